/* State words: settings of another library, read without Python.

   A state word belongs to a Python function that gives the same setting. A guard reads the word
   first; if it differs from the last reading, the guard calls the function and remembers the new
   word. So a word must change whenever the function's result does, and may change more often.
   Without the symbol, or on another system than Linux, the function is called each time. */

#define _GNU_SOURCE
#include "guards.h"
#include "core.h"

#ifdef __linux__
#include <dlfcn.h>
#include <string.h>

#define MOST_STATE_WORDS 16

typedef enum { WORD_BOOL, WORD_INT8, WORD_INT64, WORD_POINTER, WORD_THREAD } StateWordKind;

static const char *const kind_names[] = {"bool", "int8", "int64", "words at", "words of thread"};

struct StateWord {
    PyObject *function;
    StateWordKind kind;
    void *library;
    const char *symbol; /* held by `name` */
    PyObject *name;
    void *address; /* of the function; a variable of threads has one in each */
};

static struct StateWord state_words[MOST_STATE_WORDS];
static int n_state_words = 0;
static _Thread_local const uint64_t *variables[MOST_STATE_WORDS];

static const uint64_t *
words_of_thread(const StateWord *word)
{
    const uint64_t **here = &variables[word - state_words];
    if (UNLIKELY(!*here)) {
        *here = dlsym(word->library, word->symbol);
    }
    return *here;
}

/* What the state word is now: two machine words, of which most use one. */
void
guard_read_state_word(const StateWord *word, uint64_t words[2])
{
    const void *address = &word->address;
    const uint64_t *at = NULL;
    words[0] = words[1] = 0;
    switch (word->kind) {
    case WORD_BOOL:
        words[0] = (*(bool (*const *)(void))address)();
        break;
    case WORD_INT8:
        words[0] = (uint8_t)(*(int8_t (*const *)(void))address)();
        break;
    case WORD_INT64:
        words[0] = (uint64_t)(*(int64_t (*const *)(void))address)();
        break;
    case WORD_POINTER:
        at = (*(const uint64_t *(*const *)(void))address)();
        break;
    case WORD_THREAD:
        at = words_of_thread(word);
        break;
    }
    if (at) {
        words[0] = at[0];
        words[1] = at[1];
    }
}

/* The state word of a Python function; NULL if there is none. */
const StateWord *
guard_find_state_word(const PyObject *function)
{
    for (int i = 0; i < n_state_words; i++) {
        if (state_words[i].function == function) {
            return &state_words[i];
        }
    }
    return NULL;
}

static int
find_kind(const char *name)
{
    for (size_t i = 0; i < Py_ARRAY_LENGTH(kind_names); i++) {
        if (strcmp(name, kind_names[i]) == 0) {
            return (int)i;
        }
    }
    PyErr_Format(PyExc_ValueError, "no kind of state word: '%s'", name);
    return -1;
}

static PyObject *
add_state_word(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *symbol;
    const char *library, *kind_name;
    if (!PyArg_ParseTuple(args, "OsUs:state_word", &function, &library, &symbol, &kind_name)) {
        return NULL;
    }
    int kind = find_kind(kind_name);
    const char *name = kind < 0 ? NULL : PyUnicode_AsUTF8(symbol);
    if (!name) {
        return NULL;
    }
    if (guard_find_state_word(function)) {
        Py_RETURN_TRUE;
    }
    /* Only what is loaded already; the handle is kept, and with it the library. */
    void *handle =
        n_state_words < MOST_STATE_WORDS ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *address = handle ? dlsym(handle, name) : NULL;
    if (!address) {
        Py_RETURN_FALSE;
    }
    state_words[n_state_words++] = (StateWord){.function = Py_NewRef(function),
                                               .kind = (StateWordKind)kind,
                                               .library = handle,
                                               .symbol = name,
                                               .name = Py_NewRef(symbol),
                                               .address = address};
    Py_RETURN_TRUE;
}

#else

void
guard_read_state_word(const StateWord *Py_UNUSED(word), uint64_t words[2])
{
    words[0] = words[1] = 0;
}

const StateWord *
guard_find_state_word(const PyObject *Py_UNUSED(function))
{
    return NULL;
}

static PyObject *
add_state_word(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    Py_RETURN_FALSE;
}

#endif

PyMethodDef suture_state_word_methods[] = {
    {"state_word", add_state_word, METH_VARARGS,
     "state_word(function, library, symbol, kind) -> whether the word can be read"},
    {NULL, NULL, 0, NULL},
};
