/* TRAIL's nested JSON: a trace with its root spans, each holding its children. See wire.h for what is declined.
 *
 * Texts and times are made here; where anything else stands is told by its extent: two numbers, the first byte and the
 * one behind the last. Long values of attributes are held as they are written, for most of them are text
 * that nobody reads; and since every model call repeats the conversation so far, what repeats is passed at once.
 */
#include "json.h"
#include "late.h"

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

#define BEGINNING 64 /* texts are looked up by so many bytes at their beginning */
#define LONG 256     /* shorter values are made at once */
#define BACK 4096    /* so far back a space is looked for, behind which reading goes on */
#define PLACE_BITS 7
#define WAYS 4       /* so many texts that begin alike are known */

/* A text that was met in this trace, with its quotes. */
typedef struct {
    Bytes at;
    PyObject *piece;
} Known;

typedef struct {
    Json json;
    const unsigned char *start;
    PyObject *read; /* gives the value for the bytes of a piece */
    Known (*known)[WAYS];
    PyObject *resource; /* the bytes of the one that came last, or NULL */
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
extent(Walk *walk, Bytes found)
{
    return Py_BuildValue("nn", found.at - walk->start, found.end - walk->start);
}

/* Whether null stands here, which is passed. */
static int
absent(Json *json)
{
    Bytes passed;
    return json_peek(json) == 'n' && json_passed(json, 0, &passed);
}

/* Where texts are known that begin like this one. */
static Known *
known_like(Walk *walk, const unsigned char *at)
{
    uint64_t mixed = 0, word;
    for (int part = 0; part < BEGINNING; part += 8) {
        memcpy(&word, at + part, 8);
        mixed = (mixed ^ word) * 0xD6E8FEB86659FD93ULL;
        mixed ^= mixed >> 29;
    }
    return walk->known[mixed >> (64 - PLACE_BITS)];
}

static Py_ssize_t
size_of(Bytes text)
{
    return text.end - text.at;
}

/* How many bytes are the same from the beginning on, at most so many. */
static Py_ssize_t
alike(const unsigned char *one, const unsigned char *other, Py_ssize_t most)
{
    Py_ssize_t at = 0;
    while (most - at >= LONG && !memcmp(one + at, other + at, LONG))
        at += LONG;
    while (at < most && one[at] == other[at])
        at++;
    return at;
}

/* The known text that has most of its beginning in common with what stands here, and how much; WAYS for none. */
static int
most_alike(const Json *json, const Known *like, Py_ssize_t *shared)
{
    int best = WAYS;
    *shared = 0;
    for (int way = 0; way < WAYS && like[way].piece != NULL; way++) {
        Py_ssize_t size = size_of(like[way].at), left = json->end - json->at;
        Py_ssize_t same = alike(json->at, like[way].at.at, size < left ? size : left);
        if (same > *shared) {
            *shared = same;
            best = way;
            if (same == size)
                break;
        }
    }
    return best;
}

/* Goes on behind what is known to be sound: behind a space, which no escape holds. */
static int
passed_from(Json *json, Py_ssize_t sound)
{
    Py_ssize_t least = sound > BACK ? sound - BACK : 1;
    while (sound > least && json->at[sound - 1] != ' ')
        sound--;
    json->at += sound > least ? sound : 1;
    return json_passed_text(json);
}

/* Puts a text in front of those that begin like it, in the place of one that it goes on from, or of the last. */
static void
know(Known *like, int way, Bytes text, PyObject *piece)
{
    Py_XDECREF(like[way].piece);
    memmove(like + 1, like, way * sizeof(Known));
    like[0] = (Known){text, Py_NewRef(piece)};
}

/* A text that is long, or one that is known: as it is written. */
static PyObject *
long_text(Walk *walk)
{
    Json *json = &walk->json;
    Known *like = known_like(walk, json->at);
    Py_ssize_t shared;
    int way = most_alike(json, like, &shared);
    Bytes text = {json->at, NULL};
    if (way < WAYS && shared == size_of(like[way].at)) { /* a string ends by itself, so it is the same */
        json->at += shared;
        return Py_NewRef(like[way].piece);
    }
    if (!passed_from(json, shared))
        return NULL;
    text.end = json->at;
    if (size_of(text) < LONG) {
        json->at = text.at;
        PyObject *made = json_text(json, 0);
        if (made != NULL || PyErr_Occurred())
            return made;
        json->at = text.end; /* no UTF-8: whoever reads it repairs it */
    }
    int goes_on = way < WAYS && shared >= LONG;
    PyObject *piece = late_piece(walk->json.wire->piece, goes_on ? (Piece *)like[way].piece : NULL,
                                 goes_on ? shared : 0, text.at + (goes_on ? shared : 0),
                                 size_of(text) - (goes_on ? shared : 0));
    if (piece != NULL)
        know(like, goes_on && shared > size_of(like[way].at) / 4 * 3 ? way : WAYS - 1, text, piece);
    return piece;
}

/* A value of an attribute, or what it stands in until it is read. */
static PyObject *
held_value(Walk *walk)
{
    Json *json = &walk->json;
    Bytes found;
    if (json_peek(json) == '"' && json->end - json->at > BEGINNING)
        return long_text(walk);
    if (!json_passed(json, DEEPEST, &found))
        return NULL;
    return late_piece(json->wire->piece, NULL, 0, found.at, size_of(found));
}

/* An object's values by name. */
static PyObject *
split(Walk *walk)
{
    Json *json = &walk->json;
    PyObject *found = json_take(json, '{') ? PyDict_New() : NULL, *late;
    int sound = found != NULL, over = sound && json_take(json, '}');
    while (sound && !over) {
        PyObject *name = json_text(json, 1), *held = NULL;
        sound = name != NULL && json_take(json, ':') && (held = held_value(walk)) != NULL &&
                PyDict_SetItem(found, name, held) == 0;
        Py_XDECREF(name);
        Py_XDECREF(held);
        over = sound && json_take(json, '}');
        sound = sound && (over || (json_take(json, ',') && json_peek(json) == '"'));
    }
    late = sound ? late_attributes(json->wire->late, found, walk->read) : NULL;
    Py_XDECREF(found);
    return late;
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

/* Bytes; those that came last are given again. */
static PyObject *
resource(Walk *walk, Bytes found)
{
    PyObject *last = walk->resource;
    Py_ssize_t size = found.end - found.at;
    if (last == NULL || PyBytes_GET_SIZE(last) != size || memcmp(PyBytes_AS_STRING(last), found.at, size)) {
        PyObject *made = PyBytes_FromStringAndSize((const char *)found.at, size);
        if (made == NULL)
            return NULL;
        Py_XSETREF(walk->resource, made);
    }
    return Py_NewRef(walk->resource);
}

/* What is no text and no attribute: nanoseconds, bytes, nothing for an empty list; else where it stands. */
static PyObject *
placed(Walk *walk, int number)
{
    Bytes found;
    long long ns;
    if (!json_passed(&walk->json, DEEPEST, &found))
        return NULL;
    if (number == RESOURCE)
        return resource(walk, found);
    if (number == TIME ? iso_time(found, &ns) : number == DURATION && iso_duration(found, &ns))
        return PyLong_FromLongLong(ns);
    if (number >= EVENTS && found.end - found.at == 2 && *found.at == '[')
        return Py_NewRef(Py_None);
    return extent(walk, found);
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
    return number == LOGS ? length(&walk->json) : placed(walk, number);
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

static void
forget(Walk *walk)
{
    for (int place = 0; walk->known != NULL && place < 1 << PLACE_BITS; place++)
        for (int way = 0; way < WAYS; way++)
            Py_XDECREF(walk->known[place][way].piece);
    PyMem_Free(walk->known);
    Py_XDECREF(walk->resource);
    PyMem_RawFree(walk->json.scratch);
}

/* nested(text, read): the trace id, and a row for each span. */
PyObject *
json_nested(Wire *wire, PyObject *args)
{
    Walk walk = {0};
    PyObject *trace_id = NULL, *found = NULL, *text;
    if (!PyArg_ParseTuple(args, "SO:nested", &text, &walk.read))
        return NULL;
    walk.json.wire = wire;
    walk.start = walk.json.at = (const unsigned char *)PyBytes_AS_STRING(text);
    walk.json.end = walk.start + PyBytes_GET_SIZE(text);
    walk.known = PyMem_Calloc(1 << PLACE_BITS, sizeof(*walk.known));
    if (walk.known == NULL)
        return PyErr_NoMemory();
    if ((walk.rows = PyList_New(0)) != NULL && whole(&walk, &trace_id))
        found = PyTuple_Pack(2, trace_id, walk.rows);
    else if (!PyErr_Occurred())
        found = Py_NewRef(Py_None);
    forget(&walk);
    Py_XDECREF(trace_id);
    Py_XDECREF(walk.rows);
    return found;
}
