/* Spans of OTLP in JSON: see wire.h for what is taken and what is declined. */
#include "json.h"

#define TRACE_DIGITS 32
#define SPAN_DIGITS 16

static PyObject *
id_text(Bytes id)
{
    PyObject *text = PyUnicode_New(id.end - id.at, 127);
    if (text != NULL)
        memcpy(PyUnicode_1BYTE_DATA(text), id.at, id.end - id.at);
    return text;
}

/* A trace id, which is often the same as the last one: a new reference. */
static PyObject *
trace_id(Json *json)
{
    Bytes id;
    if (!json_id(json, TRACE_DIGITS, &id))
        return NULL;
    if (json->last == NULL || memcmp(PyUnicode_1BYTE_DATA(json->last), id.at, TRACE_DIGITS)) {
        PyObject *made = id_text(id);
        if (made == NULL)
            return NULL;
        Py_XSETREF(json->last, made);
    }
    return Py_NewRef(json->last);
}

static PyObject *
other_id(Json *json, Py_ssize_t digits)
{
    Bytes id;
    return json_id(json, digits, &id) ? id_text(id) : NULL;
}

/* A string that nobody reads, but that must be one. */
static int
passed(Json *json)
{
    PyObject *text = json_text(json, 0);
    Py_XDECREF(text);
    return text != NULL;
}

static int
event(Json *json, PyObject **events)
{
    static const Key keys[] = {KEY("timeUnixNano"), KEY("name"), KEY("attributes"), KEY("droppedAttributesCount")};
    unsigned seen = 0;
    unsigned long long time = 0, dropped;
    int last = -1, number = ODD, sound = json_take(json, '{');
    PyObject *name = NULL, *attributes = NULL;
    while (sound && (number = json_key(json, keys, 4, &seen, &last)) >= 0) {
        switch (number) {
        case 0:
            sound = json_natural(json, &time);
            break;
        case 1:
            sound = (name = json_text(json, 0)) != NULL;
            break;
        case 2:
            sound = json_attributes(json, &attributes);
            break;
        case 3:
            sound = json_natural(json, &dropped);
            break;
        }
    }
    sound = sound && number == OVER && (name != NULL || (name = PyUnicode_New(0, 127)) != NULL) &&
            wire_push(events, wire_event(json->wire, name, time, attributes));
    Py_XDECREF(name);
    Py_XDECREF(attributes);
    return sound;
}

static int
linked(Json *json, PyObject **links)
{
    static const Key keys[] = {KEY("traceId"),    KEY("spanId"),
                               KEY("traceState"), KEY("attributes"),
                               KEY("flags"),      KEY("droppedAttributesCount")};
    unsigned seen = 0;
    unsigned long long ignored;
    int last = -1, number = ODD, sound = json_take(json, '{');
    PyObject *trace = NULL, *span = NULL, *attributes = NULL;
    while (sound && (number = json_key(json, keys, 6, &seen, &last)) >= 0) {
        switch (number) {
        case 0:
            sound = (trace = other_id(json, TRACE_DIGITS)) != NULL;
            break;
        case 1:
            sound = (span = other_id(json, SPAN_DIGITS)) != NULL;
            break;
        case 2:
            sound = passed(json);
            break;
        case 3:
            sound = json_attributes(json, &attributes);
            break;
        default:
            sound = json_natural(json, &ignored);
        }
    }
    sound = sound && number == OVER && trace != NULL && span != NULL &&
            wire_push(links, wire_link(json->wire, trace, span, attributes));
    Py_XDECREF(trace);
    Py_XDECREF(span);
    Py_XDECREF(attributes);
    return sound;
}

static int
status(Json *json, Parts *parts)
{
    static const Key keys[] = {KEY("code"), KEY("message")};
    unsigned seen = 0;
    unsigned long long code;
    int last = -1, number = ODD, sound = json_take(json, '{');
    while (sound && (number = json_key(json, keys, 2, &seen, &last)) >= 0) {
        if (number == 0) {
            sound = json_natural(json, &code) && code <= 2;
            parts->code = sound ? (long)code : 0;
        }
        else
            sound = (parts->message = json_text(json, 0)) != NULL;
    }
    return sound && number == OVER;
}

/* The elements of a list of events or links. */
static int
each(Json *json, int (*take)(Json *, PyObject **), PyObject **into)
{
    int count = 0, more, sound = json_take(json, '[');
    while (sound && (more = json_more(json, &count)) != 0)
        sound = more > 0 && take(json, into);
    return sound;
}

enum { TRACE, SPAN, PARENT, FLAGS, NAME, KIND, START, END, ATTRIBUTES, DROPPED_A, EVENTS, DROPPED_E, LINKS, DROPPED_L,
       STATUS, STATE };

static int
field(Json *json, int number, Parts *parts)
{
    unsigned long long count;
    switch (number) {
    case TRACE:
        return (parts->trace_id = trace_id(json)) != NULL;
    case SPAN:
        return (parts->span_id = other_id(json, SPAN_DIGITS)) != NULL;
    case PARENT:
        if (json_peek(json) == '"' && json->at[1] == '"') {
            json->at += 2;
            return 1;
        }
        return (parts->parent_id = other_id(json, SPAN_DIGITS)) != NULL;
    case FLAGS:
        return json_natural(json, &parts->flags);
    case NAME:
        return (parts->name = json_text(json, 0)) != NULL;
    case KIND:
        if (!json_natural(json, &count) || count > 5)
            return 0;
        parts->kind = (long)count;
        return 1;
    case START:
        return json_natural(json, &parts->start);
    case END:
        return json_natural(json, &parts->end);
    case ATTRIBUTES:
        return json_attributes(json, &parts->attributes);
    case DROPPED_A:
    case DROPPED_E:
        if (!json_natural(json, &count) || count > UINT32_MAX)
            return 0;
        parts->dropped += count;
        return 1;
    case EVENTS:
        return each(json, event, &parts->events);
    case LINKS:
        return each(json, linked, &parts->links);
    case DROPPED_L:
        return json_natural(json, &count);
    case STATUS:
        return status(json, parts);
    case STATE:
        return passed(json);
    }
    return 0;
}

static PyObject *
span(Json *json, PyObject *scope)
{
    static const Key keys[] = {
        [TRACE] = KEY("traceId"),
        [SPAN] = KEY("spanId"),
        [PARENT] = KEY("parentSpanId"),
        [FLAGS] = KEY("flags"),
        [NAME] = KEY("name"),
        [KIND] = KEY("kind"),
        [START] = KEY("startTimeUnixNano"),
        [END] = KEY("endTimeUnixNano"),
        [ATTRIBUTES] = KEY("attributes"),
        [DROPPED_A] = KEY("droppedAttributesCount"),
        [EVENTS] = KEY("events"),
        [DROPPED_E] = KEY("droppedEventsCount"),
        [LINKS] = KEY("links"),
        [DROPPED_L] = KEY("droppedLinksCount"),
        [STATUS] = KEY("status"),
        [STATE] = KEY("traceState"),
    };
    unsigned seen = 0;
    int last = -1, number = ODD, sound = json_take(json, '{');
    Parts parts = {0};
    PyObject *made = NULL;
    while (sound && (number = json_key(json, keys, STATE + 1, &seen, &last)) >= 0)
        sound = field(json, number, &parts);
    sound = sound && number == OVER && parts.trace_id != NULL && parts.span_id != NULL && parts.start;
    if (sound && (parts.name != NULL || (parts.name = PyUnicode_New(0, 127)) != NULL) &&
        (parts.message != NULL || (parts.message = PyUnicode_New(0, 127)) != NULL))
        made = wire_span(json->wire, &parts, scope);
    wire_clear(&parts);
    return made;
}

/* One walk through a document. */
typedef struct {
    Json json;
    PyObject *scope_of; /* is asked for the scope of what a resource and a scope say, as the text that they are */
    PyObject *records;  /* a list */
    Bytes resource;
} Walk;

static int
of_scope(Walk *walk)
{
    static const Key keys[] = {KEY("scope"), KEY("spans"), KEY("schemaUrl")};
    Json *json = &walk->json;
    Bytes said = {walk->resource.end, walk->resource.end};
    unsigned seen = 0;
    int last = -1, number = ODD, sound = json_take(json, '{'), count = 0, more;
    PyObject *scope = NULL;
    while (sound && (number = json_key(json, keys, 3, &seen, &last)) >= 0) {
        if (number == 0)
            sound = scope == NULL && json_extent(json, &said);
        else if (number == 2)
            sound = passed(json);
        else {
            sound = json_take(json, '[');
            scope = !sound ? NULL
                           : PyObject_CallFunction(walk->scope_of, "y#y#", walk->resource.at,
                                                   walk->resource.end - walk->resource.at, said.at, said.end - said.at);
            sound = scope != NULL;
            while (sound && (more = json_more(json, &count)) != 0)
                sound = more > 0 && wire_push(&walk->records, span(json, scope));
        }
    }
    Py_XDECREF(scope);
    return sound && number == OVER && count;
}

static int
of_resource(Walk *walk)
{
    static const Key keys[] = {KEY("resource"), KEY("scopeSpans"), KEY("schemaUrl")};
    Json *json = &walk->json;
    unsigned seen = 0;
    int last = -1, number = ODD, sound = json_take(json, '{'), count = 0, more;
    walk->resource.at = walk->resource.end = json->at;
    while (sound && (number = json_key(json, keys, 3, &seen, &last)) >= 0) {
        if (number == 0)
            sound = !count && json_extent(json, &walk->resource);
        else if (number == 2)
            sound = passed(json);
        else {
            sound = json_take(json, '[');
            while (sound && (more = json_more(json, &count)) != 0)
                sound = more > 0 && of_scope(walk);
        }
    }
    return sound && number == OVER && count;
}

static int
whole(Walk *walk)
{
    static const Key keys[] = {KEY("resourceSpans")};
    Json *json = &walk->json;
    unsigned seen = 0;
    int last = -1, count = 0, more, sound = json_take(json, '{') && json_key(json, keys, 1, &seen, &last) == 0 &&
                                            json_take(json, '[');
    while (sound && (more = json_more(json, &count)) != 0)
        sound = more > 0 && of_resource(walk);
    return sound && count && json_take(json, '}') && (json_peek(json), json->at == json->end);
}

static PyObject *
done(Walk *walk, int sound)
{
    PyMem_RawFree(walk->json.scratch);
    Py_XDECREF(walk->json.last);
    if (sound)
        return walk->records;
    Py_XDECREF(walk->records);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static int
begun(Walk *walk, Wire *wire, PyObject *args)
{
    PyObject *text;
    if (!PyArg_ParseTuple(args, "SO", &text, &walk->scope_of))
        return 0;
    walk->json.wire = wire;
    walk->json.at = (const unsigned char *)PyBytes_AS_STRING(text);
    walk->json.end = walk->json.at + PyBytes_GET_SIZE(text);
    return (walk->records = PyList_New(0)) != NULL;
}

PyObject *
json_document(Wire *wire, PyObject *args)
{
    Walk walk = {0};
    return done(&walk, begun(&walk, wire, args) && whole(&walk));
}

PyObject *
json_spans(Wire *wire, PyObject *args)
{
    Walk walk = {0};
    int sound = begun(&walk, wire, args);
    while (sound) {
        sound = wire_push(&walk.records, span(&walk.json, walk.scope_of));
        if (sound && (json_peek(&walk.json), walk.json.at == walk.json.end))
            break;
        sound = sound && json_take(&walk.json, ',');
    }
    return done(&walk, sound);
}
