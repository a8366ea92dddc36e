/* Spans of OTLP in protobuf: see wire.h for what is taken and what is declined. */
#include "proto.h"

static int
take_status(Wire *wire, Bytes in, Parts *parts)
{
    Field field;
    unsigned seen = 0;
    while (in.at < in.end) {
        if (!proto_next(&in, &field) || seen & 1u << (field.tag >> 3 & 31))
            return 0;
        seen |= 1u << (field.tag >> 3 & 31);
        if (field.tag == (2 << 3 | 2))
            parts->message = proto_text(wire, field.content);
        if (field.tag == 3 << 3 && field.value <= 2)
            parts->code = (long)field.value;
        else if (field.tag != (2 << 3 | 2) || parts->message == NULL)
            return 0;
    }
    return 1;
}

/* A span, its attributes still bytes. */
typedef struct {
    Bytes trace_id, span_id, parent_id, name, status;
    uint64_t kind, start, end, dropped_attributes, dropped_events, flags;
} Scalars;

/* A field of a span that stands there once. */
static int
scalar(Wire *wire, const Field *field, Scalars *own)
{
    switch (field->tag) {
    case 1 << 3 | 2:
        own->trace_id = field->content;
        return is_id(field->content, 16);
    case 2 << 3 | 2:
        own->span_id = field->content;
        return is_id(field->content, 8);
    case 3 << 3 | 2: /* the state of the trace */
        return proto_is_text(wire, field->content);
    case 4 << 3 | 2:
        own->parent_id = field->content;
        return !size_of(field->content) || is_id(field->content, 8);
    case 5 << 3 | 2:
        own->name = field->content;
        return 1;
    case 6 << 3:
        own->kind = field->value;
        return field->value <= 5;
    case 7 << 3 | 1:
        own->start = field->value;
        return 1;
    case 8 << 3 | 1:
        own->end = field->value;
        return 1;
    case 10 << 3:
        own->dropped_attributes = field->value;
        return field->value <= UINT32_MAX;
    case 12 << 3:
        own->dropped_events = field->value;
        return field->value <= UINT32_MAX;
    case 14 << 3: /* how many links were dropped */
        return 1;
    case 15 << 3 | 2:
        own->status = field->content;
        return 1;
    case 16 << 3 | 5:
        own->flags = field->value;
        return 1;
    }
    return 0;
}

/* The fields of a span; attributes, events and links are built into `parts`, or only looked at where that is NULL. */
static int
take_fields(Wire *wire, Bytes in, Scalars *own, Parts *parts)
{
    Field field;
    Parts none = {0};
    int build = parts != NULL;
    uint32_t seen = 0;
    if (!build)
        parts = &none;
    while (in.at < in.end) {
        if (!proto_next(&in, &field))
            return 0;
        switch (field.tag) {
        case 9 << 3 | 2:
            if (!proto_attribute(wire, field.content, &parts->attributes, build))
                return 0;
            continue;
        case 11 << 3 | 2:
            if (!proto_event(wire, field.content, &parts->events, build))
                return 0;
            continue;
        case 13 << 3 | 2:
            if (!proto_link(wire, field.content, &parts->links, build))
                return 0;
            continue;
        }
        if (field.tag >> 3 > 16 || seen & 1u << (field.tag >> 3) || !scalar(wire, &field, own))
            return 0;
        seen |= 1u << (field.tag >> 3);
    }
    return own->trace_id.at != NULL && own->span_id.at != NULL;
}

/* An id that is often the same as the last one: a new reference. */
static PyObject *
same_or_new(Bytes id, PyObject **last)
{
    if (*last == NULL || memcmp(PyBytes_AS_STRING(*last), id.at, size_of(id))) {
        PyObject *made = proto_bytes(id);
        if (made == NULL)
            return NULL;
        Py_XSETREF(*last, made);
    }
    return Py_NewRef(*last);
}

static PyObject *
build_span(Wire *wire, Bytes in, PyObject *scope, PyObject **last)
{
    Scalars own = {0};
    Parts parts = {0};
    PyObject *span = NULL;
    if (take_fields(wire, in, &own, &parts) && own.start && take_status(wire, own.status, &parts)) {
        parts.trace_id = same_or_new(own.trace_id, last);
        parts.span_id = proto_bytes(own.span_id);
        if (size_of(own.parent_id))
            parts.parent_id = proto_bytes(own.parent_id);
        parts.name = proto_text(wire, own.name);
        if (parts.message == NULL)
            parts.message = PyUnicode_New(0, 127);
        parts.start = own.start;
        parts.end = own.end;
        parts.kind = (long)own.kind;
        parts.flags = own.flags;
        parts.dropped = own.dropped_attributes + own.dropped_events;
        if (parts.trace_id != NULL && parts.span_id != NULL && parts.name != NULL && parts.message != NULL &&
            (parts.parent_id != NULL || !size_of(own.parent_id)))
            span = wire_span(wire, &parts, scope);
    }
    wire_clear(&parts);
    return span;
}

/* A span that stays bytes. `group` is its scope and its frame. */
static PyObject *
pack_span(Wire *wire, Bytes in, PyObject *group, PyObject **last)
{
    Scalars own = {0};
    if (!take_fields(wire, in, &own, NULL) || !proto_is_text(wire, own.name))
        return NULL;
    PyObject *args[] = {same_or_new(own.trace_id, last),
                        proto_bytes(own.span_id),
                        size_of(own.parent_id) ? proto_bytes(own.parent_id) : Py_NewRef(Py_None),
                        PyLong_FromUnsignedLongLong(own.start ? own.start : own.end),
                        PyLong_FromUnsignedLongLong(own.end),
                        PyBool_FromLong((own.flags & REMOTE) == REMOTE),
                        Py_NewRef(PyTuple_GET_ITEM(group, 0)),
                        proto_bytes(in),
                        Py_NewRef(PyTuple_GET_ITEM(group, 1))};
    int failed = 0;
    for (int i = 0; i < 9; i++)
        failed |= args[i] == NULL;
    PyObject *packed = failed ? NULL : PyObject_Vectorcall(wire->packed, args, 9, NULL);
    for (int i = 0; i < 9; i++)
        Py_XDECREF(args[i]);
    return packed;
}

/* One walk through a request: its spans are built, or packed. */
typedef struct {
    Wire *wire;
    PyObject *group;   /* is asked for the scope, or for scope and frame, of what a resource and a scope say */
    PyObject *records; /* a list */
    PyObject *last;    /* the trace id that came last, or NULL */
    Py_ssize_t skipped;
    int packs;
} Walk;

/* What is said of all that stands in a resource or in a scope: the last of field 1, and of field 3. */
static int
described(Wire *wire, Bytes in, Bytes *description, Bytes *schema)
{
    Field field;
    description->at = description->end = schema->at = schema->end = in.at;
    while (in.at < in.end) {
        if (!proto_next(&in, &field))
            return 0;
        if (field.tag == (1 << 3 | 2))
            *description = field.content;
        else if (field.tag == (3 << 3 | 2) && proto_is_text(wire, field.content))
            *schema = field.content;
        else if (field.tag != (2 << 3 | 2))
            return 0;
    }
    return 1;
}

static int
walk_spans(Walk *walk, Bytes in, PyObject *group)
{
    Field field;
    while (in.at < in.end) {
        if (!proto_next(&in, &field))
            return 0;
        if (field.tag != (2 << 3 | 2))
            continue;
        if (!walk->packs) {
            if (!wire_push(&walk->records, build_span(walk->wire, field.content, group, &walk->last)))
                return 0;
        }
        else if (group != Py_None) {
            if (!wire_push(&walk->records, pack_span(walk->wire, field.content, group, &walk->last)))
                return 0;
        }
        else {
            Scalars own = {0};
            if (!take_fields(walk->wire, field.content, &own, NULL) || !proto_is_text(walk->wire, own.name))
                return 0;
            walk->skipped++;
        }
    }
    return 1;
}

static int
walk_scopes(Walk *walk, Bytes in)
{
    Field field;
    Bytes resource, resource_url, scope, scope_url;
    if (!described(walk->wire, in, &resource, &resource_url))
        return 0;
    while (in.at < in.end) {
        if (!proto_next(&in, &field))
            return 0;
        if (field.tag != (2 << 3 | 2))
            continue;
        if (!described(walk->wire, field.content, &scope, &scope_url))
            return 0;
        PyObject *group = PyObject_CallFunction(walk->group, "y#y#y#y#", resource.at, size_of(resource),
                                                resource_url.at, size_of(resource_url), scope.at, size_of(scope),
                                                scope_url.at, size_of(scope_url));
        if (group == NULL)
            return 0;
        int sound = !walk->packs || group == Py_None || (PyTuple_CheckExact(group) && PyTuple_GET_SIZE(group) == 2);
        if (!sound)
            PyErr_SetString(PyExc_TypeError, "a group is a scope and a frame");
        sound = sound && walk_spans(walk, field.content, group);
        Py_DECREF(group);
        if (!sound)
            return 0;
    }
    return 1;
}

static int
walk_request(Walk *walk, PyObject *args)
{
    PyObject *message;
    Field field;
    if (!PyArg_ParseTuple(args, "SO", &message, &walk->group))
        return 0;
    const unsigned char *start = (const unsigned char *)PyBytes_AS_STRING(message);
    Bytes in = {start, start + PyBytes_GET_SIZE(message)};
    walk->records = PyList_New(0);
    int sound = walk->records != NULL;
    while (sound && in.at < in.end)
        sound = proto_next(&in, &field) && field.tag == (1 << 3 | 2) && walk_scopes(walk, field.content);
    if (!sound)
        Py_CLEAR(walk->records);
    Py_CLEAR(walk->last);
    return sound;
}

static PyObject *
declined(void)
{
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

PyObject *
proto_span(Wire *wire, PyObject *args)
{
    PyObject *message, *scope, *last = NULL;
    if (!PyArg_ParseTuple(args, "SO:span", &message, &scope))
        return NULL;
    const unsigned char *start = (const unsigned char *)PyBytes_AS_STRING(message);
    Bytes in = {start, start + PyBytes_GET_SIZE(message)};
    PyObject *span = build_span(wire, in, scope, &last);
    Py_XDECREF(last);
    return span == NULL ? declined() : span;
}

PyObject *
proto_traces(Wire *wire, PyObject *args)
{
    Walk walk = {.wire = wire};
    return walk_request(&walk, args) ? walk.records : declined();
}

PyObject *
proto_pack(Wire *wire, PyObject *args)
{
    Walk walk = {.wire = wire, .packs = 1};
    return walk_request(&walk, args) ? Py_BuildValue("(Nn)", walk.records, walk.skipped) : declined();
}
