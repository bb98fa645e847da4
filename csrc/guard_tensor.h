/* What the tensor files share: the facts of a tensor, and the spec they are compared with. */

#ifndef SUTURE_GUARD_TENSOR_H
#define SUTURE_GUARD_TENSOR_H

#include "guards.h"

#define MAX_DIMS 64

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
    FACT_ALL = (1 << 10) - 1,
} Fact;

/* What Python sees of a tensor; objects owned. */
typedef struct {
    PyObject *dtype, *device, *layout;
    int ndim;
    bool has_sizes, has_strides, requires_grad, conj, neg, inference;
    int64_t sizes[MAX_DIMS], strides[MAX_DIMS];
} Facts;

typedef struct {
    PyObject_HEAD
    PyTypeObject *type; /* owned */
    int checked;        /* bits of Fact */
    bool fast;          /* an exact tensor type that DLPack describes */
    bool byte_dtype;    /* DLPack does not tell int4 from int8 */
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
    PyObject *quiet; /* context manager that turns __torch_function__ off */
    PyObject *mode_depth;
    PyGetSetDescrObject *requires_grad, *dtype;
    PyMethodDescrObject *is_neg, *is_conj, *is_inference;
} TensorAccess;

extern TensorAccess guard_torch;

/* guard_tensor_facts.c */
int guard_read_facts(PyObject *tensor, Facts *out);
void guard_drop_facts(Facts *facts);
/* New reference: None if all checked facts agree, else a text. */
PyObject *guard_compare_facts(const TensorSpec *spec, PyTypeObject *type, const Facts *is);
PyObject *guard_configure(PyObject *module, PyObject *args);

bool guard_plain_tensor(PyObject *value);

#endif
