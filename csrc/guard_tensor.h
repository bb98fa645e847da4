/* What the tensor files share: the facts of a tensor, and the spec they are compared with. */

#ifndef SUTURE_GUARD_TENSOR_H
#define SUTURE_GUARD_TENSOR_H

#include "guards.h"

#define MAX_DIMS 64
#define DIRECT_DIMS 8

/* DLPack 1.x, the parts used here (https://dmlc.github.io/dlpack). */
typedef struct {
    int32_t type, id;
} DLDevice;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLExchangeHeader {
    uint32_t major, minor;
    struct DLExchangeHeader *previous;
} DLExchangeHeader;

typedef struct {
    DLExchangeHeader header;
    void *allocate, *managed_from_object, *managed_to_object;
    int (*tensor_from_object)(void *object, DLTensor *out);
    void *current_stream;
} DLExchangeApi;

typedef enum {
    FACT_TYPE = 1 << 0,
    FACT_DTYPE = 1 << 1,
    FACT_DEVICE = 1 << 2,
    FACT_LAYOUT = 1 << 3,
    FACT_SIZES = 1 << 4,
    FACT_STRIDES = 1 << 5,
    FACT_REQUIRES_GRAD = 1 << 6,
    FACT_CONJ = 1 << 7,
    FACT_NEG = 1 << 8,
    FACT_INFERENCE = 1 << 9,
    FACT_KEYS = 1 << 10,
    FACT_ALL = (1 << 11) - 1,
} Fact;

/* What Python sees of a tensor; objects owned. */
typedef struct {
    PyObject *dtype, *device, *layout;
    int ndim;
    uint64_t keys; /* dispatch keys */
    bool has_sizes, has_strides, requires_grad, conj, neg, inference;
    int64_t sizes[MAX_DIMS], strides[MAX_DIMS];
} Facts;

/* What is compared word by word where the layout is known. */
typedef struct DirectSpec {
    PyTypeObject *type; /* borrowed from the spec */
    uint64_t keys, kind;
    uint64_t ndim;
    bool requires_grad;
    uint8_t n_sizes, n; /* fixed sizes; those and fixed strides */
    uint8_t dim[2 * DIRECT_DIMS];
    int64_t value[2 * DIRECT_DIMS];
} DirectSpec;

typedef struct {
    PyObject_HEAD
    PyTypeObject *type; /* owned */
    bool direct_known;  /* `direct` decides */
    DirectSpec direct;
    int checked;     /* bits of Fact */
    bool fast;       /* an exact tensor type that DLPack describes */
    bool byte_dtype; /* DLPack does not tell int4 from int8 */
    DLDataType dl_dtype;
    DLDevice dl_device;
    bool fixed_size[MAX_DIMS], fixed_stride[MAX_DIMS];
    Facts facts;
} TensorSpec;

/* Direct C entries of torch.Tensor; set once by configure_tensors. */
typedef struct {
    PyObject *types; /* tuple of the exact types that are plain tensors */
    PyTypeObject *base;
    PyObject *values; /* tuple of types compared by value: torch.device, torch.Size */
    int (*exchange)(void *object, DLTensor *out);
    PyObject *keys;                   /* torch._C._dispatch_keys */
    PyObject *disable_torch_function; /* context manager that turns __torch_function__ off */
    PyObject *mode_depth;
    PyGetSetDescrObject *requires_grad, *dtype;
    PyMethodDescrObject *is_neg, *is_conj, *is_inference;
} TensorAccess;

extern TensorAccess guard_torch;

/* Where a plain tensor keeps what, in bytes from its C++ object (guard_layout.c). */
typedef struct {
    bool known; /* all but the autograd part */
    bool grad_known;
    int body;  /* word of the Python object that points to the C++ object */
    int sizes; /* or, beyond five, a pointer to them; one word before, their number */
    int keys;
    int kind; /* word with dtype, device and flags */
    uint64_t kind_mask;
    int autograd;       /* pointer to the autograd data, NULL where there are none */
    void *leaf_table;   /* first word of the autograd data of a tensor that is no view */
    int flag, function; /* in there: the byte requires_grad, the pointer grad_fn */
    int memory;         /* pointer to what all tensors on one memory have in common; 0: not found */
} TensorLayout;

extern TensorLayout guard_layout;
int guard_find_layout(void);
int guard_dispatch_keys(PyObject *tensor, uint64_t *out);

/* guard_tensor_facts.c */
int guard_read_facts(PyObject *tensor, Facts *out);
void guard_drop_facts(Facts *facts);
/* New reference: None if all checked facts agree, else a text. */
PyObject *guard_compare_facts(const TensorSpec *spec, PyTypeObject *type, const Facts *is);
/* guard_configure.c */
PyObject *guard_configure(PyObject *module, PyObject *args);
PyObject *guard_layout_report(PyObject *module, PyObject *args);

/* Reads requires_grad by torch's entry, without any mode seeing it.  1, 0, -1: error. */
int guard_requires_grad(PyObject *tensor);

static inline uint64_t
guard_word(const char *body, int offset)
{
    return *(const uint64_t *)(const void *)(body + offset);
}

/* The sizes of a tensor and its strides. */
static inline const int64_t *
guard_sizes(const char *body, const int64_t **strides)
{
    const int64_t *sizes = (const int64_t *)(const void *)(body + guard_layout.sizes);
    int64_t n = sizes[-1];
    sizes = LIKELY(n <= 5) ? sizes : (const int64_t *)(intptr_t)sizes[0];
    *strides = sizes + (n <= 5 ? 5 : n);
    return sizes;
}

/* 1: holds, 0: fails, 2: dtype, device or a flag differs, look closer, -1: error.
   `value` is of the spec's exact type. */
static inline int
guard_direct_holds(const DirectSpec *spec, PyObject *value)
{
    const TensorLayout *layout = &guard_layout;
    const char *body = ((const char *const *)value)[layout->body];
    if (guard_word(body, layout->sizes - 8) != spec->ndim ||
        guard_word(body, layout->keys) != spec->keys) {
        return 0;
    }
    const int64_t *strides, *sizes = guard_sizes(body, &strides);
    int i = 0;
    for (; i < spec->n_sizes; i++) {
        if (sizes[spec->dim[i]] != spec->value[i]) {
            return 0;
        }
    }
    for (; i < spec->n; i++) {
        if (strides[spec->dim[i]] != spec->value[i]) {
            return 0;
        }
    }
    if ((guard_word(body, layout->kind) & layout->kind_mask) != spec->kind) {
        return 2;
    }
    const unsigned char *autograd =
        *(const unsigned char *const *)(const void *)(body + layout->autograd);
    if (!autograd) {
        return !spec->requires_grad;
    }
    bool required = autograd[layout->flag];
    if (!required) {
        if (*(void *const *)(const void *)autograd != layout->leaf_table) {
            int answer = guard_requires_grad(value);
            return answer < 0 ? -1 : answer == spec->requires_grad;
        }
        required = *(void *const *)(const void *)(autograd + layout->function) != NULL;
    }
    return required == spec->requires_grad;
}

void guard_settle_kind(TensorSpec *spec, PyObject *value);
int guard_tensor_looks(TensorSpec *spec, PyObject *value);
bool guard_plain_tensor(PyObject *value);
/* A number that tensors have in common which share memory; 0 with an error.  Borrows. */
uintptr_t guard_memory_of(PyObject *tensor);

#endif
