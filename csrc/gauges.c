/* Gauges: state of another library, read without Python.

   A gauge stands beside a Python function that answers the same question. Guards look at the gauge
   first; where it is not what it was, the Python function decides, and what the gauge says then is
   remembered. So a gauge has to change whenever the function's answer does, and may change more
   often. Without the symbol, or on another system than Linux, the Python function is asked. */

#define _GNU_SOURCE
#include "guards.h"
#include "core.h"

#ifdef __linux__
#include <dlfcn.h>
#include <string.h>

#define MOST_GAUGES 16

typedef enum { GAUGE_BOOL, GAUGE_INT8, GAUGE_INT64, GAUGE_POINTER, GAUGE_THREAD } GaugeKind;

static const char *const kind_names[] = {"bool", "int8", "int64", "words at", "words of thread"};

struct Gauge {
    PyObject *function;
    GaugeKind kind;
    void *library;
    const char *symbol; /* held by `name` */
    PyObject *name;
    void *address; /* of the function; a variable of threads has one in each */
};

static struct Gauge gauges[MOST_GAUGES];
static int n_gauges = 0;
static _Thread_local const uint64_t *variables[MOST_GAUGES];

static const uint64_t *
words_of_thread(const Gauge *gauge)
{
    const uint64_t **here = &variables[gauge - gauges];
    if (UNLIKELY(!*here)) {
        *here = dlsym(gauge->library, gauge->symbol);
    }
    return *here;
}

/* What the gauge is now: two words, of which most gauges use one. */
void
guard_read_gauge(const Gauge *gauge, uint64_t words[2])
{
    const void *address = &gauge->address;
    const uint64_t *at = NULL;
    words[0] = words[1] = 0;
    switch (gauge->kind) {
    case GAUGE_BOOL:
        words[0] = (*(bool (*const *)(void))address)();
        break;
    case GAUGE_INT8:
        words[0] = (uint8_t)(*(int8_t (*const *)(void))address)();
        break;
    case GAUGE_INT64:
        words[0] = (uint64_t)(*(int64_t (*const *)(void))address)();
        break;
    case GAUGE_POINTER:
        at = (*(const uint64_t *(*const *)(void))address)();
        break;
    case GAUGE_THREAD:
        at = words_of_thread(gauge);
        break;
    }
    if (at) {
        words[0] = at[0];
        words[1] = at[1];
    }
}

/* The gauge that stands beside a Python function; NULL if there is none. */
const Gauge *
guard_find_gauge(const PyObject *function)
{
    for (int i = 0; i < n_gauges; i++) {
        if (gauges[i].function == function) {
            return &gauges[i];
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
    PyErr_Format(PyExc_ValueError, "no kind of gauge: '%s'", name);
    return -1;
}

static PyObject *
add_gauge(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *symbol;
    const char *library, *kind_name;
    if (!PyArg_ParseTuple(args, "OsUs:gauge", &function, &library, &symbol, &kind_name)) {
        return NULL;
    }
    int kind = find_kind(kind_name);
    const char *name = kind < 0 ? NULL : PyUnicode_AsUTF8(symbol);
    if (!name) {
        return NULL;
    }
    if (guard_find_gauge(function)) {
        Py_RETURN_TRUE;
    }
    /* Only what is loaded already; the handle is kept, and with it the library. */
    void *handle = n_gauges < MOST_GAUGES ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *address = handle ? dlsym(handle, name) : NULL;
    if (!address) {
        Py_RETURN_FALSE;
    }
    gauges[n_gauges++] = (Gauge){.function = Py_NewRef(function),
                                 .kind = (GaugeKind)kind,
                                 .library = handle,
                                 .symbol = name,
                                 .name = Py_NewRef(symbol),
                                 .address = address};
    Py_RETURN_TRUE;
}

#else

void
guard_read_gauge(const Gauge *Py_UNUSED(gauge), uint64_t words[2])
{
    words[0] = words[1] = 0;
}

const Gauge *
guard_find_gauge(const PyObject *Py_UNUSED(function))
{
    return NULL;
}

static PyObject *
add_gauge(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    Py_RETURN_FALSE;
}

#endif

PyMethodDef suture_gauge_methods[] = {
    {"gauge", add_gauge, METH_VARARGS,
     "gauge(function, library, symbol, kind) -> whether the gauge can be read"},
    {NULL, NULL, 0, NULL},
};
