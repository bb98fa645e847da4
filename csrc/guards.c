/* The type GuardProgram: making one, running one, letting go of one. */

#include "guard_state.h"

#include <structmember.h>
#include <time.h>

PyTypeObject *suture_guard_program_type = NULL;

/* Frees all that the program holds.  Not while a check is under way. */
void
guard_drop_contents(Program *self)
{
    Program old = *self;
    self->nodes = NULL;
    self->checks = NULL;
    self->label_symbols = NULL;
    self->label_names = NULL;
    self->symbols = NULL;
    self->same = NULL;
    self->distinct = NULL;
    self->exprs = NULL;
    self->states = NULL;
    self->held = NULL;
    self->n_nodes = self->n_checks = self->n_labels = self->n_symbols = 0;
    self->n_same = self->n_distinct = self->n_exprs = self->n_states = 0;
    for (int i = 0; i < old.n_nodes; i++) {
        guard_trail_release(old.nodes[i].trail);
        Py_XDECREF(old.nodes[i].arg);
    }
    for (int i = 0; i < old.n_checks; i++) {
        if (old.checks[i].kind != CHECK_WEAK) {
            Py_DECREF(old.checks[i].arg);
        }
    }
    for (int i = 0; i < old.n_distinct; i++) {
        PyMem_Free(old.distinct[i].labels);
        PyMem_Free(old.distinct[i].known);
    }
    for (int i = 0; i < old.n_exprs; i++) {
        PyMem_Free(old.exprs[i].symbols);
        PyMem_Free(old.exprs[i].code);
        Py_XDECREF(old.exprs[i].function);
    }
    for (int i = 0; i < old.n_states; i++) {
        Py_DECREF(old.states[i].function);
        Py_DECREF(old.states[i].expected);
    }
    PyMem_Free(old.nodes);
    PyMem_Free(old.checks);
    PyMem_Free(old.label_symbols);
    PyMem_Free(old.label_names);
    PyMem_Free(old.symbols);
    PyMem_Free(old.same);
    PyMem_Free(old.distinct);
    PyMem_Free(old.exprs);
    PyMem_Free(old.states);
    Py_XDECREF(old.held);
}

/* Called with the token as self when an object dies that the program holds weakly. */
static PyObject *
object_died(PyObject *token, PyObject *Py_UNUSED(reference))
{
    Program *program = PyCapsule_GetContext(token);
    if (program) {
        program->dead = true;
        if (!program->running) {
            Py_INCREF(program);
            guard_drop_contents(program);
            Py_DECREF(program);
        }
    }
    Py_RETURN_NONE;
}

static PyMethodDef died_method = {"object_died", object_died, METH_O, NULL};

/* Keeps a weak reference to `object` (borrowed) whose end is the end of the program. */
int
guard_hold_weakly(Program *self, PyObject *object)
{
    for (Py_ssize_t i = 0; self->held && i < PyList_GET_SIZE(self->held); i++) {
        if (((PyWeakReference *)PyList_GET_ITEM(self->held, i))->wr_object == object) {
            return 0;
        }
    }
    if (!self->held && !(self->held = PyList_New(0))) {
        return -1;
    }
    PyObject *callback = PyCFunction_New(&died_method, self->token);
    PyObject *reference = callback ? PyWeakref_NewRef(object, callback) : NULL;
    int result = reference ? PyList_Append(self->held, reference) : -1;
    Py_XDECREF(callback);
    Py_XDECREF(reference);
    return result;
}

static PyObject *
program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"nodes", "same", "distinct", "exprs", "torch_state", NULL};
    PyObject *nodes, *empty = PyTuple_New(0);
    PyObject *same = empty, *distinct = empty, *exprs = empty, *states = empty;
    Program *self = NULL;
    if (!empty || !PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOO:GuardProgram", names, &nodes,
                                               &same, &distinct, &exprs, &states)) {
        goto done;
    }
    self = (Program *)type->tp_alloc(type, 0);
    if (self) {
        self->token = PyCapsule_New(&died_method, "suture.guards", NULL);
        if (!self->token || PyCapsule_SetContext(self->token, self) < 0 ||
            guard_parse(self, nodes, same, distinct, exprs, states) < 0) {
            Py_CLEAR(self);
        }
    }
done:
    Py_XDECREF(empty);
    return (PyObject *)self;
}

static int
program_traverse(Program *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->held);
    Py_VISIT(self->token);
    for (int i = 0; i < self->n_nodes; i++) {
        Py_VISIT(self->nodes[i].arg);
    }
    for (int i = 0; i < self->n_checks; i++) {
        if (self->checks[i].kind != CHECK_WEAK) {
            Py_VISIT(self->checks[i].arg);
        }
    }
    for (int i = 0; i < self->n_exprs; i++) {
        Py_VISIT(self->exprs[i].function);
    }
    for (int i = 0; i < self->n_states; i++) {
        Py_VISIT(self->states[i].function);
        Py_VISIT(self->states[i].expected);
    }
    return 0;
}

/* A program under check is referenced by the C stack, so it is never cleared meanwhile. */
static int
program_clear(Program *self)
{
    self->dead = true;
    guard_drop_contents(self);
    return 0;
}

static void
program_dealloc(Program *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weakrefs) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    if (self->token) {
        PyCapsule_SetContext(self->token, NULL);
    }
    guard_drop_contents(self);
    Py_CLEAR(self->token);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
program_check(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    int result = suture_guards_check(self, args, n);
    return result < 0 ? NULL : PyBool_FromLong(result);
}

static PyObject *
program_failing(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    Run run = {.program = (Program *)self, .slots = args, .n_slots = n, .walk = true, .failed = -1};
    int result = guard_run_program(&run);
    Py_XDECREF(run.text);
    if (result < 0) {
        return NULL;
    }
    return result ? Py_NewRef(Py_None) : PyLong_FromLong(run.failed);
}

static PyObject *
program_explain(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    Run run = {.program = (Program *)self,
               .slots = args,
               .n_slots = n,
               .walk = true,
               .explain = true,
               .failed = -1};
    int result = guard_run_program(&run);
    PyObject *answer = NULL;
    if (result == 1) {
        answer = Py_NewRef(Py_None);
    } else if (result == 0) {
        const char *plain = ((Program *)self)->dead ? "an object it was made for is gone" : "fails";
        answer = run.text ? Py_BuildValue("iO", run.failed, run.text)
                          : Py_BuildValue("is", run.failed, plain);
    }
    Py_XDECREF(run.text);
    return answer;
}

/* time(turns, *state): nanoseconds a check takes on average, without any call from Python. */
static PyObject *
program_time(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    long turns = n > 0 ? PyLong_AsLong(args[0]) : 0;
    if (turns <= 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "time takes a number of turns, then the state");
        }
        return NULL;
    }
    struct timespec from, to;
    timespec_get(&from, TIME_UTC);
    for (long i = 0; i < turns; i++) {
        int result = suture_guards_check(self, args + 1, n - 1);
        if (result != 1) {
            if (result == 0) {
                PyErr_SetString(PyExc_ValueError, "the guards do not hold");
            }
            return NULL;
        }
    }
    timespec_get(&to, TIME_UTC);
    double spent = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    return PyFloat_FromDouble(spent / (double)turns);
}

static PyObject *
program_tensors(Program *self, void *Py_UNUSED(closure))
{
    long n = 0;
    for (int i = 0; i < self->n_checks; i++) {
        n += self->checks[i].kind == CHECK_TENSOR;
    }
    return PyLong_FromLong(n);
}

static PyObject *
program_watched(Program *self, void *Py_UNUSED(closure))
{
    long n = 0;
    for (int i = 0; i < self->n_nodes; i++) {
        n += self->nodes[i].trail ? guard_watched(self->nodes[i].trail) : 0;
    }
    return PyLong_FromLong(n);
}

static PyMethodDef program_methods[] = {
    {"check", (PyCFunction)(void (*)(void))program_check, METH_FASTCALL,
     "check(*state): whether all guards hold"},
    {"failing", (PyCFunction)(void (*)(void))program_failing, METH_FASTCALL,
     "failing(*state): the id of the first guard that fails, or None"},
    {"explain", (PyCFunction)(void (*)(void))program_explain, METH_FASTCALL,
     "explain(*state): (id, what was and what is) of the first guard that fails, or None"},
    {"time", (PyCFunction)(void (*)(void))program_time, METH_FASTCALL,
     "time(turns, *state): nanoseconds per check"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef program_members[] = {
    {"nodes", T_INT, offsetof(Program, n_nodes), READONLY, "how many nodes the program has"},
    {"dead", T_BOOL, offsetof(Program, dead), READONLY, "whether it can never hold again"},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Program, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef program_getset[] = {
    {"tensors", (getter)program_tensors, NULL, "how many tensor checks the program has", NULL},
    {"watched", (getter)program_watched, NULL, "how many dicts are watched instead of being walked",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot program_slots[] = {
    {Py_tp_doc, "GuardProgram(nodes, same=(), distinct=(), exprs=(), torch_state=())"},
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_traverse, program_traverse},
    {Py_tp_clear, program_clear},
    {Py_tp_methods, program_methods},
    {Py_tp_members, program_members},
    {Py_tp_getset, program_getset},
    {0, NULL},
};

static PyType_Spec program_spec = {
    .name = "suture._core.GuardProgram",
    .basicsize = sizeof(Program),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = program_slots,
};

int
suture_guards_init(PyObject *module)
{
    if (guard_watch_init() < 0) {
        return -1;
    }
    PyObject *type = PyType_FromSpec(&program_spec);
    if (!type) {
        return -1;
    }
    suture_guard_program_type = (PyTypeObject *)type;
    PyObject *ops = guard_expr_ops();
    int result = ops ? PyModule_AddObjectRef(module, "EXPR_OPS", ops) : -1;
    Py_XDECREF(ops);
    if (result < 0 || PyModule_AddObjectRef(module, "GuardProgram", type) < 0) {
        return -1;
    }
    return guard_tensor_init(module);
}
