/* Guard programs: the assumptions of a compiled variant as flat arrays that are
   run on the state of a point without entering the interpreter.

   A description (nested tuples, see suture/_core.pyi) is parsed once into nodes in
   preorder.  A node gets its value from its parent by an accessor, runs checks on
   it, then its children run.  A node whose object is pinned by an identity check
   is an anchor: what hangs below it is recorded in a trail (guard_state.c), which
   is a list of memory words that still have to be what they were. */

#ifndef SUTURE_GUARDS_H
#define SUTURE_GUARDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- what the rest of the core uses ---- */

extern PyTypeObject *suture_guard_program_type;

/* Adds GuardProgram, TensorSpec and configure_tensors to `module`.  0, or -1 with an error. */
int suture_guards_init(PyObject *module);

/* 1: all guards hold, 0: one fails, -1: an error is set.  Borrows everything. */
int suture_guards_check(PyObject *program, PyObject *const *slots, Py_ssize_t n);

/* 1 once an object that the program holds weakly has died: it can never hold again. */
int suture_guards_dead(PyObject *program);

/* ---- inside the guard files ---- */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

typedef enum {
    ACCESS_SLOT,
    ACCESS_CONST,
    ACCESS_ATTR,
    ACCESS_DICT,
    ACCESS_ITEM,
    ACCESS_INDEX,
    ACCESS_CELL,
    ACCESS_TYPE,
    ACCESS_GETITEM,
    ACCESS_KEY,
    ACCESS_CALL,
    ACCESS_CLOSURE,
    ACCESS_DEFAULT,
    ACCESS_KWDEFAULT,
    ACCESS_CODE,
    ACCESS_MRO_ATTR,
    ACCESS_PICK, /* a root: the item of one labelled value at the index that another one is */
} AccessKind;

typedef enum {
    CHECK_IS,
    CHECK_WEAK,
    CHECK_TYPE,
    CHECK_EQUALS,
    CHECK_LEN,
    CHECK_KEYS,
    CHECK_NO_KEY,
    CHECK_NO_ATTR,
    CHECK_TENSOR,
    CHECK_INT,
    CHECK_FLOAT,
    CHECK_BOOL,
    CHECK_UNBOUND,
    CHECK_TRUTH,
    CHECK_NO_MRO_ATTR,
} CheckKind;

typedef struct {
    int kind;         /* CheckKind */
    int id;           /* the readable guard it belongs to, or -1 */
    Py_ssize_t count; /* CHECK_LEN */
    PyObject *arg;    /* owned, except for CHECK_WEAK: the bare address */
} Check;

typedef enum { SYMBOL_SIZE, SYMBOL_STRIDE, SYMBOL_INT, SYMBOL_FLOAT, SYMBOL_OFFSET } SymbolKind;

/* An integer (or float) read from a labelled node, an operand of expressions. */
typedef struct {
    int kind; /* SymbolKind */
    int dim;
    int label;
    int next; /* the next symbol of the same label, or -1 */
} SymbolSource;

typedef struct {
    bool known; /* `number` holds the value (false: an int beyond 64 bits, a float) */
    int64_t number;
    PyObject *object; /* owned; NULL: it is `number` */
} Symbol;

typedef struct Trail Trail;

typedef struct {
    int access; /* AccessKind */
    int id;
    int label;  /* index into Run.values, or -1 */
    int end;    /* one past the last node of the subtree */
    int checks; /* first check */
    int n_checks;
    bool anchor;      /* an identity check or a constant root pins the object */
    Py_ssize_t index; /* ACCESS_PICK: the label of the list, tuple or dict */
    int at;           /* ACCESS_PICK: the label of the index */
    PyObject *arg;    /* owned; NULL for a constant root that is held weakly */
    Trail *trail;     /* anchors: what was recorded, or NULL */
} Node;

typedef struct {
    int a, b, id;
} SamePair;

typedef struct {
    int *labels;
    int n, id;
    bool memory;      /* the values are tensors, and their memory is meant */
    uintptr_t *known; /* addresses last found distinct, only ever compared */
} DistinctSet;

typedef struct {
    int id;
    int n_symbols;
    int *symbols; /* indices into Program.symbols */
    int n_code;
    int64_t *code; /* NULL: call `function` */
    int depth;     /* of the operand stack */
    PyObject *function;
} Expression;

typedef struct StateWord StateWord;

typedef struct {
    PyObject *function;    /* owned */
    PyObject *expected;    /* owned */
    PyCFunction direct;    /* METH_NOARGS implementation, or NULL */
    PyObject *self;        /* borrowed from `function` */
    const StateWord *word; /* says the same without Python, or NULL */
    uint64_t words[2];     /* the word when `function` last answered `expected` */
    bool known;            /* whether it has */
    int id;
} TorchState;

#define MOST_FIRST 4 /* arguments whose identity is looked at before anything else */

typedef struct {
    Py_ssize_t slot;
    const PyObject *object; /* borrowed, only ever compared */
} FirstLook;

typedef struct Program {
    PyObject_HEAD
    PyObject *weakrefs;
    Node *nodes;
    int n_nodes;
    Check *checks;
    int n_checks;
    int n_labels;
    int *label_symbols; /* by label: first symbol or -1 */
    int *label_names;   /* by label: the number used in the description */
    SymbolSource *symbols;
    int n_symbols;
    SamePair *same;
    int n_same;
    DistinctSet *distinct;
    int n_distinct;
    Expression *exprs;
    int n_exprs;
    TorchState *states;
    int n_states;
    PyObject *held;  /* list of weak references, or NULL */
    PyObject *token; /* capsule known to their callbacks; its pointer is this program */
    int running;     /* checks under way: nothing may be freed meanwhile */
    bool dead;
    bool simple;                 /* neither labels, expressions nor identities between nodes */
    FirstLook first[MOST_FIRST]; /* what the arguments must be, from their own checks */
    int n_first;
} Program;

/* One check of a program.  Lives on the C stack. */
typedef struct {
    Program *program;
    PyObject *const *slots;
    Py_ssize_t n_slots;
    PyObject **values; /* by label, owned, NULL until reached */
    Symbol *symbols;
    bool explain;   /* build `text` for the first failure */
    bool walk;      /* look at everything, use no trail */
    int failed;     /* id of the first failing guard */
    PyObject *text; /* owned */
} Run;

/* Where in a description we are, innermost first, for error messages. */
typedef struct Path {
    const struct Path *outer;
    const char *part;
    Py_ssize_t index;
} Path;

/* guard_parse.c */
int guard_wrong(const Path *path, const char *message, PyObject *what);
int guard_parse_id(const Path *path, PyObject *item, int *out);
int guard_find_label(const Program *program, const Path *path, PyObject *item);
int guard_parse(Program *program, PyObject *nodes, PyObject *same, PyObject *distinct,
                PyObject *exprs, PyObject *states);

/* guard_run.c */
int guard_run_program(Run *run);

/* guards.c */
void guard_drop_contents(Program *program);
int guard_hold_weakly(Program *program, PyObject *object);

/* guard_nodes.c.  Results as for suture_guards_check unless said otherwise. */
int guard_swallow(void);
PyObject *guard_get(PyObject *object, const char *name);
PyObject *guard_call(PyObject *object, const char *name);
PyObject *guard_access(const Node *node, PyObject *base);
PyObject *guard_pick(PyObject *base, PyObject *index);
int guard_walk(Run *run, int index, PyObject *value);
int guard_children(Run *run, int index, PyObject *value);
int guard_note_value(Run *run, int label, PyObject *value);
int guard_fail(Run *run, int id, PyObject *text);
int guard_explain_access(Run *run, const Node *node, PyObject *base);

/* guard_state.c */
int guard_anchor(Run *run, int index, PyObject *value);
void guard_trail_release(Trail *trail);

/* guard_checks.c */
int guard_check_holds(const Check *check, PyObject *value);
int guard_same_constant(PyObject *a, PyObject *b);
PyObject *guard_check_text(const Check *check, PyObject *value);

/* guard_expr.c */
int guard_parse_exprs(Program *program, PyObject *items);
int guard_run_exprs(Run *run);
PyObject *guard_expr_ops(void);
int guard_read_symbol(const SymbolSource *source, PyObject *value, Symbol *out);

/* guard_relations.c */
int guard_parse_same(Program *program, PyObject *items);
int guard_parse_distinct(Program *program, PyObject *items);
int guard_parse_states(Program *program, PyObject *items);
int guard_run_states(Run *run);

/* state_words.c */
const StateWord *guard_find_state_word(const PyObject *function);
void guard_read_state_word(const StateWord *word, uint64_t words[2]);
int guard_run_identities(Run *run);

/* guard_tensor.c */
int guard_tensor_init(PyObject *module);
extern PyTypeObject *guard_tensor_spec_type;
int guard_tensor_holds(PyObject *spec, PyObject *value);
PyObject *guard_tensor_mismatch(PyObject *spec, PyObject *value);
/* Size (or stride) of a dimension.  1 and *out, 0: not a tensor or no such dimension. */
int guard_tensor_number(PyObject *tensor, int kind, int dim, int64_t *out);
bool guard_is_value_type(PyTypeObject *type);

#endif
