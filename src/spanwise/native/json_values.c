/* Attributes in JSON: see wire.h for what is declined. */
#include "json.h"

static PyObject *value(Json *json, int depth);

/* Whether these words come next; if so, they are passed. */
#define BEGINS(json, words) begins(json, words, sizeof(words) - 1)

static inline int
begins(Json *json, const char *words, Py_ssize_t size)
{
    if (json->end - json->at <= size || memcmp(json->at, words, size))
        return 0;
    json->at += size;
    return 1;
}

static int
pair(Json *json, PyObject *into, int depth)
{
    static const Key keys[] = {KEY("key"), KEY("value")};
    unsigned seen = 0;
    int last = -1, sound = 1, number = ODD;
    PyObject *name = NULL, *held = NULL;
    if (BEGINS(json, "{\"key\":")) { /* as most pairs are written */
        sound = (name = json_text(json, 1)) != NULL;
        seen = 1;
        last = 0;
        if (sound && BEGINS(json, ",\"value\":{\"stringValue\":")) {
            sound = (held = json_text(json, 0)) != NULL && BEGINS(json, "}}");
            number = OVER;
        }
    }
    else
        sound = json_take(json, '{');
    while (sound && number != OVER && (number = json_key(json, keys, 2, &seen, &last)) >= 0) {
        if (number == 0)
            sound = (name = json_text(json, 1)) != NULL;
        else
            sound = (held = value(json, depth)) != NULL;
    }
    sound = sound && number == OVER && name != NULL && PyDict_SetItem(into, name, held == NULL ? Py_None : held) == 0;
    Py_XDECREF(name);
    Py_XDECREF(held);
    return sound;
}

/* The pairs of a list, its bracket passed. */
static int
pairs(Json *json, PyObject *into, int depth)
{
    int count = 0, more;
    while ((more = json_more(json, &count)) > 0)
        if (!pair(json, into, depth))
            return 0;
    return more == 0;
}

/* What stands in an array or in a list of pairs: an object with a list in it. */
static PyObject *
many(Json *json, int keyed, int depth)
{
    static const Key keys[] = {KEY("values")};
    unsigned seen = 0;
    int last = -1, count = 0, more = 0, sound = depth <= DEEPEST && json_take(json, '{');
    PyObject *found = !sound ? NULL : keyed ? PyDict_New() : PyList_New(0);
    if (found == NULL)
        return NULL;
    int number = json_key(json, keys, 1, &seen, &last);
    if (number == 0) {
        sound = json_take(json, '[');
        if (sound && keyed)
            sound = pairs(json, found, depth);
        else if (sound) {
            while (sound && (more = json_more(json, &count)) > 0)
                sound = wire_push(&found, value(json, depth));
            sound = sound && more == 0;
        }
        sound = sound && json_take(json, '}');
    }
    else
        sound = number == OVER;
    if (!sound)
        Py_CLEAR(found);
    return found;
}

static PyObject *
truth(Json *json)
{
    int is = json_peek(json) == 't', size = is ? 4 : 5;
    if (json->end - json->at < size || memcmp(json->at, is ? "true" : "false", size))
        return NULL;
    json->at += size;
    return Py_NewRef(is ? Py_True : Py_False);
}

static PyObject *
value(Json *json, int depth)
{
    static const Key keys[] = {KEY("stringValue"), KEY("intValue"),   KEY("doubleValue"),
                               KEY("boolValue"),   KEY("arrayValue"), KEY("kvlistValue")};
    unsigned seen = 0;
    int last = -1;
    PyObject *held = NULL;
    if (!json_take(json, '{'))
        return NULL;
    switch (json_key(json, keys, 6, &seen, &last)) {
    case OVER:
        return Py_NewRef(Py_None);
    case 0:
        held = json_text(json, 0);
        break;
    case 1:
        held = json_integer(json);
        break;
    case 2:
        held = json_real(json);
        break;
    case 3:
        held = truth(json);
        break;
    case 4:
        held = many(json, 0, depth + 1);
        break;
    case 5:
        held = many(json, 1, depth + 1);
        break;
    }
    if (held != NULL && !json_take(json, '}'))
        Py_CLEAR(held);
    return held;
}

int
json_attributes(Json *json, PyObject **into)
{
    if (!json_take(json, '['))
        return 0;
    if (json_take(json, ']'))
        return 1;
    return (*into = PyDict_New()) != NULL && pairs(json, *into, 0);
}
