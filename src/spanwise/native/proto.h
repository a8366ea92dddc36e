/* Fields of protobuf messages, as the reader of spans meets them. Python.h must come first. */
#ifndef SPANWISE_PROTO_H
#define SPANWISE_PROTO_H

#include "wire.h"
#include <stdint.h>

/* A field as it is met: its tag (two bytes at most), and its value or its content. */
typedef struct {
    unsigned tag;
    uint64_t value;
    Bytes content;
} Field;

static inline Py_ssize_t
size_of(Bytes bytes)
{
    return bytes.end - bytes.at;
}

/* An id of that many bytes, not all of them zero. */
static inline int
is_id(Bytes bytes, Py_ssize_t size)
{
    unsigned any = 0;
    if (size_of(bytes) != size)
        return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        any |= bytes.at[i];
    return any != 0;
}

/* The next field; 0 at one that is declined: no field, a group, a number above 2047. */
int proto_next(Bytes *in, Field *field);
/* The text that the bytes are; whether they are text; the bytes as an object. */
PyObject *proto_text(Wire *wire, Bytes bytes);
int proto_is_text(Wire *wire, Bytes bytes);
PyObject *proto_bytes(Bytes bytes);
/* Takes an attribute into a dict that is made if need be; takes it for sound where nothing is built. */
int proto_attribute(Wire *wire, Bytes in, PyObject **into, int build);
/* Take an event or a link into a list; where nothing is built, they only look whether it is one. */
int proto_event(Wire *wire, Bytes in, PyObject **events, int build);
int proto_link(Wire *wire, Bytes in, PyObject **links, int build);

#endif
