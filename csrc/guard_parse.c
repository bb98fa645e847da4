/* From the description of a program (nested tuples) to its flat arrays. */

#include "guard_state.h"
#include "core.h"

typedef struct {
    Program *program;
    int room_nodes, room_checks, room_labels;
} Parser;

typedef enum {
    ARG_NONE,
    ARG_ANY,
    ARG_STR,
    ARG_INDEX,
    ARG_CALLABLE,
    ARG_TUPLE,
    ARG_TYPE,
    ARG_SPEC
} ArgKind;

typedef struct {
    const char *name;
    ArgKind arg;
} Entry;

/* In the order of AccessKind. */
static const Entry access_words[] = {
    {"slot", ARG_INDEX},    {"const", ARG_ANY},     {"attr", ARG_STR},      {"dict", ARG_NONE},
    {"item", ARG_ANY},      {"index", ARG_INDEX},   {"cell", ARG_NONE},     {"type", ARG_NONE},
    {"getitem", ARG_ANY},   {"key", ARG_INDEX},     {"call", ARG_CALLABLE}, {"closure", ARG_INDEX},
    {"default", ARG_INDEX}, {"kwdefault", ARG_STR}, {"code", ARG_NONE},     {"mro_attr", ARG_STR},
    {"pick", ARG_TUPLE},
};

/* In the order of CheckKind. */
static const Entry check_words[] = {
    {"is", ARG_ANY},       {"weak", ARG_ANY},       {"type", ARG_TYPE},       {"equals", ARG_ANY},
    {"len", ARG_INDEX},    {"keys", ARG_TUPLE},     {"no_key", ARG_ANY},      {"no_attr", ARG_STR},
    {"tensor", ARG_SPEC},  {"int", ARG_NONE},       {"float", ARG_NONE},      {"bool", ARG_NONE},
    {"unbound", ARG_NONE}, {"truth", ARG_CALLABLE}, {"no_mro_attr", ARG_STR},
};

static PyObject *
path_text(const Path *path)
{
    PyObject *text = PyUnicode_FromString("");
    for (; path && text; path = path->outer) {
        PyObject *longer = path->outer
                               ? PyUnicode_FromFormat(".%s[%zd]%U", path->part, path->index, text)
                               : PyUnicode_FromFormat("%s[%zd]%U", path->part, path->index, text);
        Py_SETREF(text, longer);
    }
    return text;
}

/* Sets a ValueError "nodes[0].checks[1]: <message>"; returns -1. */
int
guard_wrong(const Path *path, const char *message, PyObject *what)
{
    PyObject *where = path_text(path);
    if (where && what) {
        PyErr_Format(PyExc_ValueError, "%U: %s, not %R", where, message, what);
    } else if (where) {
        PyErr_Format(PyExc_ValueError, "%U: %s", where, message);
    }
    Py_XDECREF(where);
    return -1;
}

static int
find_word(const Entry *words, size_t n, PyObject *name)
{
    for (size_t i = 0; PyUnicode_Check(name) && i < n; i++) {
        if (PyUnicode_CompareWithASCIIString(name, words[i].name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Checks `arg` against its kind; *index is set for ARG_INDEX.  0 or -1. */
static int
check_arg(const Path *path, ArgKind kind, PyObject *arg, Py_ssize_t *index)
{
    switch (kind) {
    case ARG_NONE:
        return arg == Py_None ? 0 : guard_wrong(path, "takes no argument", arg);
    case ARG_ANY:
        return 0;
    case ARG_STR:
        return PyUnicode_Check(arg) ? 0 : guard_wrong(path, "takes a str", arg);
    case ARG_INDEX:
        if (!PyLong_CheckExact(arg)) {
            return guard_wrong(path, "takes an int", arg);
        }
        *index = PyLong_AsSsize_t(arg);
        return *index == -1 && PyErr_Occurred() ? -1 : 0;
    case ARG_CALLABLE:
        return PyCallable_Check(arg) ? 0 : guard_wrong(path, "takes a callable", arg);
    case ARG_TUPLE:
        return PyTuple_CheckExact(arg) ? 0 : guard_wrong(path, "takes a tuple", arg);
    case ARG_TYPE:
        return PyType_Check(arg) ? 0 : guard_wrong(path, "takes a type", arg);
    case ARG_SPEC:
        return Py_IS_TYPE(arg, guard_tensor_spec_type)
                   ? 0
                   : guard_wrong(path, "takes a TensorSpec", arg);
    }
    Py_UNREACHABLE();
}

int
guard_parse_id(const Path *path, PyObject *item, int *out)
{
    long id = item == Py_None ? -1 : PyLong_CheckExact(item) ? PyLong_AsLong(item) : -2;
    if (id < -1 || id > INT32_MAX) {
        PyErr_Clear();
        return guard_wrong(path, "an id is an int from 0 on", item);
    }
    *out = (int)id;
    return 0;
}

/* (kind[, arg[, id]]) */
static int
parse_check(Parser *parser, const Path *path, PyObject *item)
{
    Program *program = parser->program;
    if (!PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) < 1 || PyTuple_GET_SIZE(item) > 3) {
        return guard_wrong(path, "a check is (kind, arg, id)", item);
    }
    int kind = find_word(check_words, Py_ARRAY_LENGTH(check_words), PyTuple_GET_ITEM(item, 0));
    if (kind < 0) {
        return guard_wrong(path, "unknown check", PyTuple_GET_ITEM(item, 0));
    }
    PyObject *arg = PyTuple_GET_SIZE(item) > 1 ? PyTuple_GET_ITEM(item, 1) : Py_None;
    Check check = {.kind = kind, .id = -1, .arg = arg};
    if (check_arg(path, check_words[kind].arg, arg, &check.count) < 0 ||
        (PyTuple_GET_SIZE(item) == 3 &&
         guard_parse_id(path, PyTuple_GET_ITEM(item, 2), &check.id) < 0)) {
        return -1;
    }
    if (kind == CHECK_LEN && check.count < 0) {
        return guard_wrong(path, "a length is an int from 0 on", arg);
    }
    if (kind == CHECK_WEAK && guard_hold_weakly(program, arg) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            return -1;
        }
        PyErr_Clear();
        return guard_wrong(path, "takes an object that can be weakly referenced", arg);
    }
    if (kind == CHECK_NO_KEY && PyObject_Hash(arg) == -1) {
        return -1;
    }
    Check *slot = guard_grow((void **)&program->checks, &program->n_checks, &parser->room_checks,
                             sizeof(Check));
    if (!slot) {
        return -1;
    }
    *slot = check;
    if (kind != CHECK_WEAK) {
        Py_INCREF(arg);
    }
    return 0;
}

static int
add_label(Parser *parser, const Path *path, PyObject *item, int *out)
{
    Program *program = parser->program;
    int name = -1;
    if (item == Py_None) {
        return 0;
    }
    if (!PyLong_CheckExact(item) || guard_parse_id(path, item, &name) < 0) {
        PyErr_Clear();
        return guard_wrong(path, "a label is an int from 0 on", item);
    }
    for (int i = 0; i < program->n_labels; i++) {
        if (program->label_names[i] == name) {
            return guard_wrong(path, "the label is used twice", NULL);
        }
    }
    int *slot = guard_grow((void **)&program->label_names, &program->n_labels, &parser->room_labels,
                           sizeof(int));
    if (!slot) {
        return -1;
    }
    *slot = name;
    *out = program->n_labels - 1;
    return 0;
}

int
guard_find_label(const Program *program, const Path *path, PyObject *item)
{
    long name = PyLong_CheckExact(item) ? PyLong_AsLong(item) : -1;
    for (int i = 0; i < program->n_labels; i++) {
        if (program->label_names[i] == name) {
            return i;
        }
    }
    PyErr_Clear();
    return guard_wrong(path, "no node has this label", item);
}

/* The identity check of a node pins its object; a weakly pinned constant is not held. */
static void
settle_anchor(Program *program, Node *node)
{
    node->anchor = node->access == ACCESS_CONST && guard_can_watch();
    for (int i = node->checks; i < node->checks + node->n_checks; i++) {
        const Check *check = &program->checks[i];
        if (check->kind == CHECK_IS || check->kind == CHECK_WEAK) {
            node->anchor = guard_can_watch();
        }
        if (check->kind == CHECK_WEAK && node->access == ACCESS_CONST && node->arg == check->arg) {
            node->index = (Py_ssize_t)(intptr_t)check->arg;
            Py_CLEAR(node->arg);
        }
    }
}

/* (label of a list or tuple, label of an index): both are of roots that come before. */
static int
parse_pick(const Program *program, const Path *path, PyObject *arg, Node *node)
{
    if (PyTuple_GET_SIZE(arg) != 2) {
        return guard_wrong(path, "takes (label, label)", arg);
    }
    node->index = guard_find_label(program, path, PyTuple_GET_ITEM(arg, 0));
    node->at = node->index < 0 ? -1 : guard_find_label(program, path, PyTuple_GET_ITEM(arg, 1));
    return node->at < 0 ? -1 : 0;
}

static int parse_nodes(Parser *parser, const Path *outer, const char *part, PyObject *items);

/* (accessor, arg, checks, children[, label[, id]]) */
static int
parse_node(Parser *parser, const Path *path, PyObject *item)
{
    Program *program = parser->program;
    Py_ssize_t size = PyTuple_CheckExact(item) ? PyTuple_GET_SIZE(item) : 0;
    if (size < 4 || size > 6) {
        return guard_wrong(path, "a node is (accessor, arg, checks, children, label, id)", item);
    }
    PyObject *word = PyTuple_GET_ITEM(item, 0), *arg = PyTuple_GET_ITEM(item, 1);
    int access = find_word(access_words, Py_ARRAY_LENGTH(access_words), word);
    if (access < 0) {
        return guard_wrong(path, "unknown accessor", word);
    }
    if ((access <= ACCESS_CONST || access == ACCESS_PICK) != (path->outer == NULL)) {
        return guard_wrong(path, "slot and const are for roots, as pick is, others for children",
                           word);
    }
    int index = program->n_nodes;
    Node *node =
        guard_grow((void **)&program->nodes, &program->n_nodes, &parser->room_nodes, sizeof(Node));
    if (!node) {
        return -1;
    }
    *node = (Node){.access = access, .id = -1, .label = -1, .checks = program->n_checks};
    if (check_arg(path, access_words[access].arg, arg, &node->index) < 0) {
        return -1;
    }
    if (node->index < 0 && access != ACCESS_INDEX) {
        return guard_wrong(path, "takes an int from 0 on", arg);
    }
    if (access == ACCESS_PICK) {
        if (parse_pick(program, path, arg, node) < 0) {
            return -1;
        }
    } else if (access_words[access].arg != ARG_INDEX && access_words[access].arg != ARG_NONE) {
        node->arg = Py_NewRef(arg);
    }
    if ((access == ACCESS_ITEM) && PyObject_Hash(arg) == -1) {
        return -1;
    }
    if ((size > 4 && add_label(parser, path, PyTuple_GET_ITEM(item, 4), &node->label) < 0) ||
        (size > 5 && guard_parse_id(path, PyTuple_GET_ITEM(item, 5), &node->id) < 0)) {
        return -1;
    }
    PyObject *checks = PyTuple_GET_ITEM(item, 2);
    if (!PyTuple_CheckExact(checks)) {
        return guard_wrong(path, "checks are a tuple", checks);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(checks); i++) {
        Path inner = {path, "checks", i};
        if (parse_check(parser, &inner, PyTuple_GET_ITEM(checks, i)) < 0) {
            return -1;
        }
    }
    node->n_checks = program->n_checks - node->checks;
    settle_anchor(program, node);
    int first = program->n_checks;
    if (parse_nodes(parser, path, "children", PyTuple_GET_ITEM(item, 3)) < 0) {
        return -1;
    }
    node = &program->nodes[index];
    node->end = program->n_nodes;
    if (node->id < 0 && node->n_checks) {
        node->id = program->checks[node->checks].id;
    } else if (node->id < 0 && first < program->n_checks) {
        node->id = program->checks[first].id;
    }
    return 0;
}

static int
parse_nodes(Parser *parser, const Path *outer, const char *part, PyObject *items)
{
    if (!PyTuple_CheckExact(items)) {
        Path path = {outer, part, 0};
        return guard_wrong(&path, "nodes are a tuple", items);
    }
    if (Py_EnterRecursiveCall(" in the description of a guard program")) {
        return -1;
    }
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(items); i++) {
        Path path = {outer, part, i};
        result = parse_node(parser, &path, PyTuple_GET_ITEM(items, i));
    }
    Py_LeaveRecursiveCall();
    return result;
}

/* Symbols are chained by the label they are read from. */
static int
chain_symbols(Program *program)
{
    program->label_symbols = PyMem_New(int, program->n_labels + 1);
    if (!program->label_symbols) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < program->n_labels; i++) {
        program->label_symbols[i] = -1;
    }
    for (int i = program->n_symbols - 1; i >= 0; i--) {
        SymbolSource *symbol = &program->symbols[i];
        symbol->next = program->label_symbols[symbol->label];
        program->label_symbols[symbol->label] = i;
    }
    return 0;
}

/* Notes which arguments must be which objects: a point with many programs, each for a module of its
   own, finds the right one by these.  Their checks stay in the program. */
static void
note_first(Program *program)
{
    for (int i = 0; i < program->n_nodes; i = program->nodes[i].end) {
        const Node *node = &program->nodes[i];
        for (int j = 0; node->access == ACCESS_SLOT && j < node->n_checks; j++) {
            const Check *check = &program->checks[node->checks + j];
            bool identity = check->kind == CHECK_WEAK || check->kind == CHECK_IS;
            if (identity && check->arg != suture_unbound && program->n_first < MOST_FIRST) {
                program->first[program->n_first++] = (FirstLook){node->index, check->arg};
            }
        }
    }
}

/* Fills an empty program.  0, or -1 with a ValueError that says where it is wrong. */
int
guard_parse(Program *program, PyObject *nodes, PyObject *same, PyObject *distinct, PyObject *exprs,
            PyObject *states)
{
    Parser parser = {.program = program};
    if (parse_nodes(&parser, NULL, "nodes", nodes) < 0 || guard_parse_same(program, same) < 0 ||
        guard_parse_distinct(program, distinct) < 0 || guard_parse_exprs(program, exprs) < 0 ||
        guard_parse_states(program, states) < 0) {
        return -1;
    }
    program->simple = program->n_labels == 0;
    note_first(program);
    return chain_symbols(program);
}
