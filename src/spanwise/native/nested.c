/* TRAIL's nested JSON: a trace with its root spans, each holding its children. See wire.h for what is declined.
 *
 * Short texts are made here; all else stays where it stands, and is told by its extent: two numbers, the first byte and
 * the one behind the last. Most of these files is text that nobody reads.
 */
#include "json.h"

enum { ID, PARENT, NAME, KIND, SERVICE, SCOPE, VERSION, CODE, MESSAGE, TIME, DURATION, RESOURCE, EVENTS, LINKS,
       ATTRIBUTES, LOGS, CHILDREN, FIELDS };
#define TEXTS TIME                 /* the first so many are texts */
#define PLACES (ATTRIBUTES - TIME) /* so many behind them are told by where they stand */

static const Key keys[FIELDS] = {
    [ID] = KEY("span_id"),
    [PARENT] = KEY("parent_span_id"),
    [NAME] = KEY("span_name"),
    [KIND] = KEY("span_kind"),
    [SERVICE] = KEY("service_name"),
    [SCOPE] = KEY("scope_name"),
    [VERSION] = KEY("scope_version"),
    [CODE] = KEY("status_code"),
    [MESSAGE] = KEY("status_message"),
    [TIME] = KEY("timestamp"),
    [DURATION] = KEY("duration"),
    [RESOURCE] = KEY("resource_attributes"),
    [EVENTS] = KEY("events"),
    [LINKS] = KEY("links"),
    [ATTRIBUTES] = KEY("span_attributes"),
    [LOGS] = KEY("logs"),
    [CHILDREN] = KEY("child_spans"),
};

typedef struct {
    Json json;
    const unsigned char *start;
    PyObject *rows; /* a list: a tuple for each span, parents before their children: its texts, its extents, its
                     * attributes, how many logs it has, and the id of the nearest span above that has one */
} Walk;

static int
is(Bytes key, const Key *wanted)
{
    return key.end - key.at == wanted->size && !memcmp(key.at, wanted->name, wanted->size);
}

/* The number of a key; FIELDS for one that nobody asks for. */
static int
number_of(Bytes key)
{
    int number = 0;
    while (number < FIELDS && !is(key, &keys[number]))
        number++;
    return number;
}

static PyObject *
extent(Walk *walk)
{
    Bytes found;
    if (!json_passed(&walk->json, DEEPEST, &found))
        return NULL;
    return Py_BuildValue("nn", found.at - walk->start, found.end - walk->start);
}

/* Whether null stands here, which is passed. */
static int
absent(Json *json)
{
    Bytes passed;
    return json_peek(json) == 'n' && json_passed(json, 0, &passed);
}

/* The extents of an object's values, by name. */
static PyObject *
split(Walk *walk)
{
    Json *json = &walk->json;
    PyObject *found = json_take(json, '{') ? PyDict_New() : NULL;
    int sound = found != NULL, over = sound && json_take(json, '}');
    while (sound && !over) {
        PyObject *name = json_text(json, 1), *held = NULL;
        sound = name != NULL && json_take(json, ':') && (held = extent(walk)) != NULL &&
                PyDict_SetItem(found, name, held) == 0;
        Py_XDECREF(name);
        Py_XDECREF(held);
        over = sound && json_take(json, '}');
        sound = sound && (over || (json_take(json, ',') && json_peek(json) == '"'));
    }
    if (!sound)
        Py_CLEAR(found);
    return found;
}

/* How many elements a list has. */
static PyObject *
length(Json *json)
{
    Bytes passed;
    int count = 0, more = ODD, sound = json_take(json, '[');
    while (sound && (more = json_more(json, &count)) > 0)
        sound = json_passed(json, DEEPEST, &passed);
    return sound && more == 0 ? PyLong_FromLong(count) : NULL;
}

static PyObject *
value(Walk *walk, int number)
{
    if (number != TIME && number != RESOURCE && number != ID && absent(&walk->json))
        return Py_NewRef(Py_None);
    if (number < TEXTS)
        return json_text(&walk->json, 0);
    if (number == ATTRIBUTES)
        return split(walk);
    return number == LOGS ? length(&walk->json) : extent(walk);
}

static int spans(Walk *walk, PyObject *above, int depth);

/* Where a field belongs in the parts of a row. */
static PyObject **
place_of(PyObject *const parts[2], int number, PyObject **attributes, PyObject **logs)
{
    if (number < TEXTS)
        return &PyTuple_GET_ITEM(parts[0], number);
    if (number < ATTRIBUTES)
        return &PyTuple_GET_ITEM(parts[1], number - TEXTS);
    return number == ATTRIBUTES ? attributes : logs;
}

/* A span and all below it. */
static int
span(Walk *walk, PyObject *above, int depth)
{
    Json *json = &walk->json;
    PyObject *parts[2] = {PyTuple_New(TEXTS), PyTuple_New(PLACES)}, *attributes = NULL, *logs = NULL, *row = NULL;
    Bytes key, passed;
    int count = 0, more = ODD, below = 0;
    Py_ssize_t at = PyList_GET_SIZE(walk->rows);
    int sound = parts[0] != NULL && parts[1] != NULL && PyList_Append(walk->rows, Py_None) == 0 && json_take(json, '{');
    while (sound && (more = json_member(json, &count, &key)) > 0) {
        int number = number_of(key);
        if (number == FIELDS)
            sound = json_passed(json, DEEPEST, &passed);
        else if (number == CHILDREN) { /* declined where the id comes behind them, which nobody writes */
            PyObject *id = PyTuple_GET_ITEM(parts[0], ID);
            sound = id != NULL && !below++ &&
                    (absent(json) || (depth && spans(walk, PyUnicode_GET_LENGTH(id) ? id : above, depth - 1)));
        }
        else {
            PyObject **place = place_of(parts, number, &attributes, &logs);
            sound = *place == NULL && (*place = value(walk, number)) != NULL;
        }
    }
    sound = sound && more == 0 && PyTuple_GET_ITEM(parts[0], ID) != NULL && PyTuple_GET_ITEM(parts[1], 0) != NULL;
    for (int number = 0; sound && number < CHILDREN; number++) {
        PyObject **place = place_of(parts, number, &attributes, &logs);
        if (*place == NULL)
            *place = Py_NewRef(Py_None);
    }
    if (sound)
        row = PyTuple_Pack(5, parts[0], parts[1], attributes, logs, above);
    Py_XDECREF(parts[0]);
    Py_XDECREF(parts[1]);
    Py_XDECREF(attributes);
    Py_XDECREF(logs);
    return row != NULL && PyList_SetItem(walk->rows, at, row) == 0;
}

static int
spans(Walk *walk, PyObject *above, int depth)
{
    int count = 0, more = ODD, sound = json_take(&walk->json, '[');
    while (sound && (more = json_more(&walk->json, &count)) > 0)
        sound = span(walk, above, depth);
    return sound && more == 0;
}

static int
whole(Walk *walk, PyObject **trace_id)
{
    static const Key outer[] = {KEY("trace_id"), KEY("spans")};
    Json *json = &walk->json;
    Bytes key, passed;
    int count = 0, more = ODD, seen = 0, sound = json_take(json, '{');
    while (sound && (more = json_member(json, &count, &key)) > 0) {
        if (is(key, &outer[0]))
            sound = *trace_id == NULL && (*trace_id = json_text(json, 0)) != NULL;
        else if (is(key, &outer[1]))
            sound = !seen++ && spans(walk, Py_None, DEEPEST);
        else
            sound = json_passed(json, DEEPEST, &passed);
    }
    return sound && more == 0 && *trace_id != NULL && seen && (json_peek(json), json->at == json->end);
}

PyObject *
json_nested(Wire *wire, PyObject *text)
{
    Walk walk = {0};
    PyObject *trace_id = NULL, *found = NULL;
    if (!PyBytes_Check(text))
        return PyErr_Format(PyExc_TypeError, "bytes are needed");
    walk.json.wire = wire;
    walk.start = walk.json.at = (const unsigned char *)PyBytes_AS_STRING(text);
    walk.json.end = walk.start + PyBytes_GET_SIZE(text);
    if ((walk.rows = PyList_New(0)) != NULL && whole(&walk, &trace_id))
        found = PyTuple_Pack(2, trace_id, walk.rows);
    else if (!PyErr_Occurred())
        found = Py_NewRef(Py_None);
    PyMem_RawFree(walk.json.scratch);
    Py_XDECREF(trace_id);
    Py_XDECREF(walk.rows);
    return found;
}
