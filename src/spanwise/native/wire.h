/* What the readers of OTLP's two encodings share. Python.h must come first.
 *
 * They take what follows the specification to the letter and decline all else: a function that declines gives NULL or
 * 0 and sets no exception, and the twin in Python then looks at the same bytes. So whatever is taken here must be what
 * the twin would have given, and whatever is in doubt need not be.
 */
#ifndef SPANWISE_WIRE_H
#define SPANWISE_WIRE_H

#include "core.h"

#define DEEPEST 64
/* In the flags of a span: where its parent is, is known, and it is remote. */
#define REMOTE 0x300

typedef struct {
    PyObject_HEAD
    PyObject *span, *event, *link, *packed; /* the types of the records */
    PyObject *empty;                        /* the attributes of what has none */
    PyObject *names;                        /* a mapping: gives an equal name, the same object each time */
    PyObject **known_names, **known_texts;  /* what came lately, each at the place that its bytes give it */
    PyTypeObject *late, *piece;             /* attributes that are read late, and what stands in them until then */
} Wire;

/* A piece of the input. */
typedef struct {
    const unsigned char *at, *end;
} Bytes;

/* A span that is being read; it owns its references. */
typedef struct {
    PyObject *trace_id, *span_id, *parent_id, *name, *message, *attributes, *events, *links;
    unsigned long long start, end, flags, dropped;
    long kind, code;
} Parts;

/* The text of so many bytes, which are ASCII if `ascii`; NULL for bytes that are no UTF-8. */
PyObject *wire_text(Wire *wire, const unsigned char *bytes, Py_ssize_t size, int ascii);
/* The name of an attribute; the same object each time. */
PyObject *wire_name(Wire *wire, const unsigned char *bytes, Py_ssize_t size, int ascii);
int wire_is_ascii(const unsigned char *bytes, Py_ssize_t size);
/* The records; NULL with an exception. The attributes are a dict or NULL, events and links a list or NULL. */
PyObject *wire_span(Wire *wire, Parts *parts, PyObject *scope);
PyObject *wire_event(Wire *wire, PyObject *name, unsigned long long time, PyObject *attributes);
PyObject *wire_link(Wire *wire, PyObject *trace_id, PyObject *span_id, PyObject *attributes);
/* Puts a record at the end of a list, which is made if need be, and lets go of it; 0 if either failed. */
int wire_push(PyObject **list, PyObject *record);
void wire_clear(Parts *parts);

PyObject *proto_span(Wire *wire, PyObject *args);
PyObject *proto_traces(Wire *wire, PyObject *args);
PyObject *proto_pack(Wire *wire, PyObject *args);
PyObject *json_document(Wire *wire, PyObject *args);
PyObject *json_spans(Wire *wire, PyObject *args);
PyObject *json_nested(Wire *wire, PyObject *args);

#endif
