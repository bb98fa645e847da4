/* One run of a program over the state of a point. */

#include "guards.h"
#include "core.h"

#include <string.h>

#define SMALL 16 /* labels and symbols that fit on the C stack */

static int
run_roots(Run *run)
{
    Program *program = run->program;
    for (int i = 0; i < program->n_nodes; i = program->nodes[i].end) {
        const Node *node = &program->nodes[i];
        PyObject *value, *picked = NULL;
        if (node->access == ACCESS_PICK) {
            value = picked = guard_pick(run->values[node->index], run->values[node->at]);
            if (!picked) {
                return guard_explain_access(run, node, run->values[node->index]);
            }
        } else if (node->access == ACCESS_SLOT) {
            if (node->index >= run->n_slots) {
                return guard_explain_access(run, node, NULL);
            }
            value = run->slots[node->index] ? run->slots[node->index] : suture_unbound;
        } else {
            value = node->arg ? node->arg : (PyObject *)(intptr_t)node->index;
        }
        int result = guard_walk(run, i, value);
        Py_XDECREF(picked);
        if (result != 1) {
            return result;
        }
    }
    return 1;
}

static int
run_all(Run *run)
{
    int result = run->program->n_states ? guard_run_states(run) : 1;
    if (result == 1) {
        result = run_roots(run);
    }
    if (result == 1 && !run->program->simple) {
        result = guard_run_identities(run);
        result = result == 1 ? guard_run_exprs(run) : result;
    }
    return result;
}

static int
run_with_values(Run *run)
{
    PyObject *values[SMALL];
    Symbol symbols[SMALL];
    size_t n_values = (size_t)run->program->n_labels, n_symbols = (size_t)run->program->n_symbols;
    run->values = n_values <= SMALL ? values : PyMem_Calloc(n_values, sizeof *values);
    run->symbols = n_symbols <= SMALL ? symbols : PyMem_Calloc(n_symbols, sizeof *symbols);
    int result = -1;
    if (run->values == values) { /* most programs have a few: no more than these are cleared */
        memset(values, 0, n_values * sizeof *values);
    }
    if (run->symbols == symbols) {
        memset(symbols, 0, n_symbols * sizeof *symbols);
    }
    if (run->values && run->symbols) {
        result = run_all(run);
    } else {
        PyErr_NoMemory();
    }
    for (size_t i = 0; run->values && i < n_values; i++) {
        Py_XDECREF(run->values[i]);
    }
    for (size_t i = 0; run->symbols && i < n_symbols; i++) {
        Py_XDECREF(run->symbols[i].object);
    }
    if (run->values != values) {
        PyMem_Free(run->values);
    }
    if (run->symbols != symbols) {
        PyMem_Free(run->symbols);
    }
    return result;
}

/* Runs the program as `run` says.  User code may drop the program meanwhile. */
int
guard_run_program(Run *run)
{
    Program *program = run->program;
    if (UNLIKELY(program->dead)) {
        return 0;
    }
    Py_INCREF(program);
    program->running++;
    int result = program->simple ? run_all(run) : run_with_values(run);
    if (--program->running == 0 && UNLIKELY(program->dead)) {
        result = result < 0 ? result : 0;
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        guard_drop_contents(program);
        PyErr_Restore(type, value, traceback);
    }
    Py_DECREF(program);
    return result;
}

int
suture_guards_check(PyObject *self, PyObject *const *slots, Py_ssize_t n)
{
    Program *program = (Program *)self;
    for (int i = 0; i < program->n_first; i++) {
        const FirstLook *first = &program->first[i];
        if (first->slot < n && slots[first->slot] != first->object) {
            return 0;
        }
    }
    Run run = {.program = program, .slots = slots, .n_slots = n, .failed = -1};
    return guard_run_program(&run);
}

int
suture_guards_dead(PyObject *program)
{
    return ((Program *)program)->dead;
}
