/* The fields of protobuf messages, and what of a span repeats: attributes, events, links: see wire.h for what is declined. */
#include "proto.h"

enum { TEXT = 0x0A, BOOL = 0x10, INT = 0x18, DOUBLE = 0x21, ARRAY = 0x2A, KVLIST = 0x32, BYTES = 0x3A };

static int
long_varint(Bytes *in, uint64_t *value)
{
    uint64_t found = 0;
    for (int shift = 0; shift < 70 && in->at < in->end; shift += 7) {
        unsigned byte = *in->at++;
        if (shift == 63 && byte > 1)
            return 0;
        found |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = found;
            return 1;
        }
    }
    return 0;
}

static inline int
varint(Bytes *in, uint64_t *value)
{
    if (in->at < in->end && *in->at < 0x80) {
        *value = *in->at++;
        return 1;
    }
    return long_varint(in, value);
}

/* So many bytes as a length before them says. */
static inline int
chunk(Bytes *in, Bytes *found)
{
    uint64_t size;
    if (!varint(in, &size) || size > (uint64_t)(in->end - in->at))
        return 0;
    found->at = in->at;
    found->end = in->at += size;
    return 1;
}

static uint64_t
fixed(const unsigned char *at, int size)
{
    uint64_t found = 0;
    while (size--)
        found = found << 8 | at[size];
    return found;
}

int
proto_next(Bytes *in, Field *field)
{
    uint64_t tag;
    if (!varint(in, &tag) || tag < 8 || tag > 0x3FFF)
        return 0;
    field->tag = (unsigned)tag;
    switch (tag & 7) {
    case 0:
        return varint(in, &field->value);
    case 1:
    case 5: {
        int size = (tag & 7) == 1 ? 8 : 4;
        if (in->end - in->at < size)
            return 0;
        field->value = fixed(in->at, size);
        in->at += size;
        return 1;
    }
    case 2:
        return chunk(in, &field->content);
    }
    return 0;
}

PyObject *
proto_text(Wire *wire, Bytes bytes)
{
    return wire_text(wire, bytes.at, size_of(bytes), wire_is_ascii(bytes.at, size_of(bytes)));
}

int
proto_is_text(Wire *wire, Bytes bytes)
{
    if (wire_is_ascii(bytes.at, size_of(bytes)))
        return 1;
    PyObject *made = proto_text(wire, bytes);
    Py_XDECREF(made);
    return made != NULL;
}

PyObject *
proto_bytes(Bytes bytes)
{
    return PyBytes_FromStringAndSize((const char *)bytes.at, size_of(bytes));
}

static int take_pair(Wire *wire, Bytes in, PyObject *into, int depth);
static PyObject *value_of(Wire *wire, Bytes in, int depth);

/* What stands in an array or in a list of pairs. */
static PyObject *
many_of(Wire *wire, Bytes in, int pairs, int depth)
{
    if (depth > DEEPEST)
        return NULL;
    PyObject *found = pairs ? PyDict_New() : PyList_New(0);
    Bytes item;
    while (found != NULL && in.at < in.end) {
        if (*in.at++ != TEXT || !chunk(&in, &item) ||
            !(pairs ? take_pair(wire, item, found, depth) : wire_push(&found, value_of(wire, item, depth))))
            Py_CLEAR(found);
    }
    return found;
}

/* What an AnyValue holds. */
static PyObject *
value_of(Wire *wire, Bytes in, int depth)
{
    if (in.at == in.end)
        return Py_NewRef(Py_None);
    unsigned tag = *in.at++;
    uint64_t number;
    Bytes held;
    switch (tag) {
    case BOOL:
        return size_of(in) == 1 && *in.at < 0x80 ? Py_NewRef(*in.at ? Py_True : Py_False) : NULL;
    case INT:
        return varint(&in, &number) && in.at == in.end ? PyLong_FromLongLong((long long)number) : NULL;
    case DOUBLE: {
        if (size_of(in) != 8)
            return NULL;
        double real = PyFloat_Unpack8((const char *)in.at, 1);
        return real == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(real);
    }
    case TEXT:
    case ARRAY:
    case KVLIST:
    case BYTES:
        if (!chunk(&in, &held) || in.at != in.end)
            return NULL;
        if (tag == TEXT)
            return proto_text(wire, held);
        return tag == BYTES ? proto_bytes(held) : many_of(wire, held, tag == KVLIST, depth + 1);
    }
    return NULL;
}

static int
take_pair(Wire *wire, Bytes in, PyObject *into, int depth)
{
    Bytes held;
    if (size_of(in) < 2 || in.at[0] != TEXT || in.at[1] > 0x7F || in.at[1] > size_of(in) - 2)
        return 0;
    const unsigned char *name_at = in.at + 2;
    Py_ssize_t size = in.at[1];
    in.at += 2 + size;
    held.at = held.end = in.at;
    if (in.at < in.end && (*in.at++ != 0x12 || !chunk(&in, &held) || in.at != in.end))
        return 0;
    PyObject *name = wire_name(wire, name_at, size, wire_is_ascii(name_at, size));
    PyObject *value = name == NULL ? NULL : value_of(wire, held, depth);
    int taken = value != NULL && PyDict_SetItem(into, name, value) == 0;
    Py_XDECREF(name);
    Py_XDECREF(value);
    return taken;
}

int
proto_attribute(Wire *wire, Bytes in, PyObject **into, int build)
{
    if (!build)
        return 1;
    if (*into == NULL && (*into = PyDict_New()) == NULL)
        return 0;
    return take_pair(wire, in, *into, 0);
}

int
proto_event(Wire *wire, Bytes in, PyObject **events, int build)
{
    Field field;
    uint64_t time = 0;
    PyObject *attributes = NULL, *name = NULL;
    int sound = 1;
    unsigned seen = 0;
    Bytes named = {in.at, in.at};
    while (sound && in.at < in.end) {
        sound = proto_next(&in, &field);
        if (!sound)
            break;
        switch (field.tag) {
        case 1 << 3 | 1:
            time = field.value;
            break;
        case 2 << 3 | 2:
            named = field.content;
            break;
        case 3 << 3 | 2:
            sound = proto_attribute(wire, field.content, &attributes, build);
            continue;
        case 4 << 3: /* how many attributes were dropped */
            break;
        default:
            sound = 0;
            continue;
        }
        sound = !(seen & 1u << (field.tag >> 3));
        seen |= 1u << (field.tag >> 3);
    }
    if (sound && build) {
        name = proto_text(wire, named);
        sound = name != NULL && wire_push(events, wire_event(wire, name, time, attributes));
    }
    else if (sound)
        sound = proto_is_text(wire, named);
    Py_XDECREF(name);
    Py_XDECREF(attributes);
    return sound;
}

int
proto_link(Wire *wire, Bytes in, PyObject **links, int build)
{
    Field field;
    PyObject *attributes = NULL, *trace_id = NULL, *span_id = NULL;
    int sound = 1;
    unsigned seen = 0;
    Bytes trace = {in.at, in.at}, span = {in.at, in.at};
    while (sound && in.at < in.end) {
        sound = proto_next(&in, &field);
        if (!sound)
            break;
        switch (field.tag) {
        case 1 << 3 | 2:
            trace = field.content;
            break;
        case 2 << 3 | 2:
            span = field.content;
            break;
        case 3 << 3 | 2:
            sound = proto_is_text(wire, field.content);
            continue;
        case 4 << 3 | 2:
            sound = proto_attribute(wire, field.content, &attributes, build);
            continue;
        case 5 << 3: /* how many attributes were dropped */
        case 6 << 3 | 5: /* flags */
            continue;
        default:
            sound = 0;
            continue;
        }
        sound = !(seen & 1u << (field.tag >> 3));
        seen |= 1u << (field.tag >> 3);
    }
    if (sound && build) {
        sound = is_id(trace, 16) && is_id(span, 8) && (trace_id = proto_bytes(trace)) != NULL &&
                (span_id = proto_bytes(span)) != NULL &&
                wire_push(links, wire_link(wire, trace_id, span_id, attributes));
    }
    Py_XDECREF(trace_id);
    Py_XDECREF(span_id);
    Py_XDECREF(attributes);
    return sound;
}
