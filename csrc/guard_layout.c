/* Reading a plain tensor's metadata straight from memory.

   The C entries of torch cost 50 ns a call, a memory word one.  torch promises no layout,
   so none is written down here: it is found by looking at tensors whose facts are known
   (configure_tensors), and used only if every one of them reads back right.  Anything
   unexpected leaves `known` false, and the entries are called instead.  No storage is
   looked into, so copy-on-write tensors stay what they are. */

#include "guard_tensor.h"

#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define MAX_WORDS 64

TensorLayout guard_layout;

/* Lists of tensors that differ in what their names say, made with every mode turned off. Nothing
   runs backward: that would start the threads of autograd's engine, and a process that has them
   cannot be forked by a program that trains in its children. */
static const char probe_source[] =
    "def probes(torch):\n"
    "    from torch.utils._python_dispatch import _disable_current_modes as off\n"
    "    def make(dtype=torch.float32, *size):\n"
    "        return torch.zeros(size or (3, 2), dtype=dtype, device='cpu')\n"
    "    names = ('float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64'\n"
    "             ' complex128 uint16 uint32 uint64 float8_e4m3fn float8_e5m2').split()\n"
    "    with off(), torch._C.DisableTorchFunction(), torch.inference_mode(False), \\\n"
    "            torch.enable_grad():\n"
    "        f = torch.float32\n"
    "        shapes = [make(f, 7), make(f, 5, 3), make(f, 4, 3, 2), make(f, 2, 3, 4, 5),\n"
    "                  make(f, 6, 5, 4, 3, 2), make(f, 2, 1, 2, 3, 1, 2), make(f, *[2] * 8),\n"
    "                  make(f, 0, 3), make(f, 9, 8).t()[1:, ::2]]\n"
    "        dtypes = [make(getattr(torch, n)) for n in names if hasattr(torch, n)]\n"
    "        devices = [make(), torch.zeros((3, 2), device='meta')]\n"
    "        alike = [make(), make().detach(), make().data, make(f, 4, 5)[:3, :2],\n"
    "                 make(f, 2, 3).t(), make(f, 3, 2).expand(3, 2), make() + 1,\n"
    "                 make(f, 2, 3, 4, 5).to(memory_format=torch.channels_last),\n"
    "                 torch.nn.Parameter(make()), make(f, 1), make(f, 6, 1)]\n"
    "        leaf = [make().requires_grad_() for _ in range(3)] + [torch.nn.Parameter(make())]\n"
    "        leaf[1].grad = make()\n"
    "        leaf[2].register_hook(lambda grad: grad)\n"
    "        leaf[3].grad = make()\n"
    "        plain = [make() for _ in range(3)]\n"
    "        frozen = [make().requires_grad_().requires_grad_(False) for _ in range(2)]\n"
    "        frozen.append(torch.nn.Parameter(make()).requires_grad_(False))\n"
    "        frozen[0].grad = make()\n"
    "        last = make().requires_grad_()\n"
    "        last.register_hook(lambda grad: grad)\n"
    "        frozen.append(last.requires_grad_(False))\n"
    "        made = [leaf[0] * 2, leaf[1] + leaf[2], leaf[3].sin().sum(), make().mul_(leaf[0])]\n"
    "        c = make(torch.complex64)\n"
    "        with torch.inference_mode():\n"
    "            inside = make()\n"
    "        keys = [make(), c, c.conj(), c.conj().imag, inside, devices[1], leaf[0], "
    "leaf[0].t()]\n"
    "    return shapes, dtypes, devices, alike, plain, leaf, frozen, made, keys\n";

enum { SHAPES, DTYPES, DEVICES, ALIKE, PLAIN, LEAF, FROZEN, MADE, KEYS, N_LISTS };

typedef struct {
    PyObject *lists[N_LISTS]; /* borrowed */
    int words;                /* readable words of a tensor's C++ object */
} Probes;

static Py_ssize_t
block_size(const void *block)
{
#ifdef __GLIBC__
    return (Py_ssize_t)malloc_usable_size((void *)block);
#else
    (void)block;
    return 0;
#endif
}

static PyObject *
probe(const Probes *probes, int list, Py_ssize_t i)
{
    return i < PyList_GET_SIZE(probes->lists[list]) ? PyList_GET_ITEM(probes->lists[list], i)
                                                    : NULL;
}

static const char *
body(PyObject *tensor)
{
    return ((const char *const *)tensor)[guard_layout.body];
}

static uint64_t
word(PyObject *tensor, int offset)
{
    uint64_t out;
    memcpy(&out, body(tensor) + offset, sizeof out);
    return out;
}

/* The word of the Python object that points to the C++ object, which `_cdata` tells. */
static bool
find_body(Probes *probes)
{
    int found = -1;
    probes->words = MAX_WORDS;
    for (int list = 0; list < N_LISTS; list++) {
        PyObject *tensor;
        for (Py_ssize_t i = 0; (tensor = probe(probes, list, i)); i++) {
            PyObject *number = PyObject_GetAttrString(tensor, "_cdata");
            void *address = number ? PyLong_AsVoidPtr(number) : NULL;
            Py_XDECREF(number);
            int at = -1, words = (int)(Py_TYPE(tensor)->tp_basicsize / 8);
            for (int w = (int)(sizeof(PyObject) / 8); address && w < words; w++) {
                at = ((void **)tensor)[w] == address ? (at == -1 ? w : -2) : at;
            }
            if (at < 0 || (found >= 0 && at != found)) {
                return false;
            }
            found = at;
            Py_ssize_t size = block_size(address) / 8;
            probes->words = size < probes->words ? (int)size : probes->words;
        }
    }
    guard_layout.body = found;
    return found >= 0 && probes->words >= 16;
}

/* Sizes and strides of up to five dimensions lie inside, behind their number; more lie
   where a pointer in their place says. */
static bool
find_shape(const Probes *probes)
{
    PyObject *tensor;
    for (Py_ssize_t i = 0; (tensor = probe(probes, SHAPES, i)); i++) {
        DLTensor is;
        if (guard_torch.exchange(tensor, &is) != 0) {
            return false;
        }
        ptrdiff_t sizes = (const char *)is.shape - body(tensor);
        if (i == 0) {
            guard_layout.sizes = (int)sizes;
            if (sizes < 24 || sizes + 80 > probes->words * 8) {
                return false;
            }
        }
        const int64_t *strides, *found = guard_sizes(body(tensor), &strides);
        if (found != is.shape || strides != is.strides ||
            word(tensor, guard_layout.sizes - 8) != (uint64_t)is.ndim) {
            return false;
        }
    }
    return true;
}

/* The word that holds the dispatch keys. */
static bool
find_keys(const Probes *probes)
{
    int found = 0;
    for (int offset = guard_layout.sizes + 80; offset < probes->words * 8; offset += 8) {
        PyObject *tensor;
        bool all = true;
        for (Py_ssize_t i = 0; all && (tensor = probe(probes, KEYS, i)); i++) {
            uint64_t keys;
            all = guard_dispatch_keys(tensor, &keys) == 0 && word(tensor, offset) == keys;
        }
        if (all) {
            found = found ? -1 : offset;
        }
    }
    guard_layout.keys = found;
    return found > 0;
}

/* The bits of a word that differ between two tensors of a list. */
static uint64_t
differing(const Probes *probes, int list, int offset)
{
    PyObject *tensor, *first = probe(probes, list, 0);
    uint64_t bits = 0;
    for (Py_ssize_t i = 1; (tensor = probe(probes, list, i)); i++) {
        bits |= word(tensor, offset) ^ word(first, offset);
    }
    return bits;
}

/* Whether the low bytes of a word tell dtypes and devices apart.  Flags, some of which are
   never written, begin at the first byte that differs between tensors that are alike. */
static bool
is_kind(const Probes *probes, int offset)
{
    uint64_t flags = differing(probes, ALIKE, offset) | differing(probes, PLAIN, offset);
    uint64_t mask = 0;
    for (int byte = 0; byte < 8 && !(flags & (UINT64_C(0xff) << (8 * byte))); byte++) {
        mask |= UINT64_C(0xff) << (8 * byte);
    }
    if (!(differing(probes, DEVICES, offset) & mask)) {
        return false;
    }
    PyObject *a, *b;
    for (Py_ssize_t i = 0; (a = probe(probes, DTYPES, i)); i++) {
        for (Py_ssize_t j = 0; j < i && (b = probe(probes, DTYPES, j)); j++) {
            if (!((word(a, offset) ^ word(b, offset)) & mask)) {
                return false;
            }
        }
    }
    guard_layout.kind_mask = mask;
    return true;
}

static bool
find_kind(const Probes *probes)
{
    int found = 0;
    for (int offset = guard_layout.sizes + 80; offset < probes->words * 8; offset += 8) {
        if (offset != guard_layout.keys && is_kind(probes, offset)) {
            found = found ? -1 : offset;
        }
    }
    guard_layout.kind = found;
    return found > 0;
}

/* Whether word `offset` is zero (or not) in all tensors of a list. */
static bool
all_zero(const Probes *probes, int list, int offset, bool zero)
{
    PyObject *tensor;
    for (Py_ssize_t i = 0; (tensor = probe(probes, list, i)); i++) {
        if ((word(tensor, offset) == 0) != zero) {
            return false;
        }
    }
    return true;
}

static const unsigned char *
autograd(PyObject *tensor)
{
    return (const unsigned char *)(uintptr_t)word(tensor, guard_layout.autograd);
}

/* What autograd keeps of a tensor: made on demand, so absent from fresh tensors. */
static bool
find_autograd(const Probes *probes, int *size)
{
    int found = 0;
    for (int offset = 16; offset < guard_layout.sizes - 8; offset += 8) {
        if (all_zero(probes, PLAIN, offset, true) && all_zero(probes, LEAF, offset, false) &&
            all_zero(probes, FROZEN, offset, false) && all_zero(probes, MADE, offset, false)) {
            found = found ? -1 : offset;
        }
    }
    if (found <= 0) {
        return false;
    }
    guard_layout.autograd = found;
    memcpy(&guard_layout.leaf_table, autograd(probe(probes, LEAF, 0)), sizeof(void *));
    *size = 8 * MAX_WORDS;
    static const int lists[] = {LEAF, FROZEN, MADE};
    for (int k = 0; k < 3; k++) {
        PyObject *tensor;
        for (Py_ssize_t i = 0; (tensor = probe(probes, lists[k], i)); i++) {
            Py_ssize_t room = block_size(autograd(tensor));
            *size = room < *size ? (int)room : *size;
            if (memcmp(autograd(tensor), &guard_layout.leaf_table, sizeof(void *)) != 0) {
                return false;
            }
        }
    }
    return *size >= 64;
}

/* Whether byte (or word) `at` of the autograd data is `value` in all tensors of a list. */
static bool
all_bytes(const Probes *probes, int list, int at, int value)
{
    PyObject *tensor;
    for (Py_ssize_t i = 0; (tensor = probe(probes, list, i)); i++) {
        if (autograd(tensor)[at] != value) {
            return false;
        }
    }
    return true;
}

static bool
all_pointers(const Probes *probes, int list, int at, bool set)
{
    PyObject *tensor;
    for (Py_ssize_t i = 0; (tensor = probe(probes, list, i)); i++) {
        void *pointer;
        memcpy(&pointer, autograd(tensor) + at, sizeof pointer);
        if ((pointer != NULL) != set) {
            return false;
        }
    }
    return true;
}

/* requires_grad is a byte of the autograd data, or follows from a grad_fn. */
static bool
find_requires_grad(const Probes *probes)
{
    int size, flag = 0, function = 0;
    if (!find_autograd(probes, &size)) {
        return false;
    }
    for (int at = 8; at < size; at++) {
        if (all_bytes(probes, LEAF, at, 1) && all_bytes(probes, FROZEN, at, 0) &&
            all_bytes(probes, MADE, at, 0)) {
            flag = flag ? -1 : at;
        }
    }
    for (int at = 8; at + 8 <= size; at += 8) {
        if (all_pointers(probes, LEAF, at, false) && all_pointers(probes, FROZEN, at, false) &&
            all_pointers(probes, MADE, at, true)) {
            /* a shared pointer is two words: the object and its counters */
            function = !function ? at : function > 0 && at == function + 8 ? function : -1;
        }
    }
    guard_layout.flag = flag;
    guard_layout.function = function;
    return flag > 0 && function > 0;
}

/* What torch says is the memory of a tensor; 0 with an error.  Borrows. */
static uintptr_t
told_memory(PyObject *tensor)
{
    PyObject *storage = PyObject_CallMethod(tensor, "untyped_storage", NULL);
    PyObject *number = storage ? PyObject_GetAttrString(storage, "_cdata") : NULL;
    void *address = number ? PyLong_AsVoidPtr(number) : NULL;
    Py_XDECREF(storage);
    Py_XDECREF(number);
    if (!address && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "a tensor without memory");
    }
    return (uintptr_t)address;
}

/* The word that points to a tensor's memory. */
static int
find_memory(const Probes *probes)
{
    int found = 0;
    for (int offset = 16; offset < guard_layout.sizes - 8; offset += 8) {
        bool all = true;
        for (int list = 0; all && list < N_LISTS; list++) {
            PyObject *tensor;
            for (Py_ssize_t i = 0; all && (tensor = probe(probes, list, i)); i++) {
                uintptr_t memory = told_memory(tensor);
                if (!memory) {
                    return 0;
                }
                all = word(tensor, offset) == memory;
            }
        }
        found = !all ? found : found ? -1 : offset;
    }
    return found > 0 ? found : 0;
}

uintptr_t
guard_memory_of(PyObject *tensor)
{
    if (LIKELY(guard_layout.memory && guard_plain_tensor(tensor))) {
        return (uintptr_t)word(tensor, guard_layout.memory);
    }
    return told_memory(tensor);
}

/* Looks for the layout.  -1 only for an error that must be passed on. */
int
guard_find_layout(void)
{
    PyObject *space = PyDict_New(), *torch = NULL, *made = NULL, *function = NULL;
    PyObject *ran = space ? PyRun_String(probe_source, Py_file_input, space, space) : NULL;
    if (ran && (torch = PyImport_ImportModule("torch")) &&
        (function = PyDict_GetItemString(space, "probes"))) {
        made = PyObject_CallOneArg(function, torch);
    }
    if (made && guard_torch.exchange) {
        Probes probes;
        for (int i = 0; i < N_LISTS; i++) {
            probes.lists[i] = PyTuple_GET_ITEM(made, i);
        }
        bool little = *(const unsigned char *)&(uint16_t){1} == 1;
        guard_layout.known = sizeof(void *) == 8 && little && find_body(&probes) &&
                             find_shape(&probes) && find_keys(&probes) && find_kind(&probes);
        guard_layout.grad_known = guard_layout.known && find_requires_grad(&probes);
        guard_layout.memory = guard_layout.known ? find_memory(&probes) : 0;
    }
    Py_XDECREF(space);
    Py_XDECREF(torch);
    Py_XDECREF(made);
    Py_XDECREF(ran);
    return guard_swallow();
}
