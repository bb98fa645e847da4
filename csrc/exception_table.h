/* Reading the table in which a code object says where its exceptions go. Included by the frame
 * files of the versions that need it. */
#ifndef SUTURE_EXCEPTION_TABLE_H
#define SUTURE_EXCEPTION_TABLE_H

/* One entry, in code units: exceptions of [start, end) go to target, with the stack cut to depth
 * and, with `lasti`, the offset of the instruction pushed below the exception. */
typedef struct {
    int start, end, target, depth, lasti;
} table_entry;

/* Reads one number of an exception table and moves `at` behind it: six bits a byte, most
 * significant first, 0x40 marks that more follow (0x80 the start of an entry). */
static unsigned
table_number(const unsigned char **at)
{
    unsigned value = **at & 0x3f;
    while (*(*at)++ & 0x40) {
        value = value << 6 | (**at & 0x3f);
    }
    return value;
}

/* Reads the entry at `at` and moves behind it. */
static table_entry
table_next(const unsigned char **at)
{
    int start = (int)table_number(at);
    int length = (int)table_number(at);
    int target = (int)table_number(at);
    int packed = (int)table_number(at);
    return (table_entry){start, start + length, target, packed >> 1, packed & 1};
}

/* The handler of an exception raised at `unit`, -1 if there is none. */
static inline int
handler_of(PyCodeObject *code, int unit)
{
    const unsigned char *at = (unsigned char *)PyBytes_AS_STRING(code->co_exceptiontable);
    const unsigned char *end = at + PyBytes_GET_SIZE(code->co_exceptiontable);
    while (at < end) {
        table_entry entry = table_next(&at);
        if (entry.start <= unit && unit < entry.end) {
            return entry.target;
        }
    }
    return -1;
}

/* From 3.13 on the line is taken from the next unit and the handler from the one before it. The
 * unit itself serves for both unless it is the first one of a block. */
static inline int
raised_next(PyCodeObject *code, int unit)
{
    return handler_of(code, unit - 1) == handler_of(code, unit) ? unit : unit + 1;
}

#endif
