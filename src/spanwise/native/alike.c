/* Which tool calls may ask nearly the same as another one: a number for each call that is the same for two that do.
 *
 * The number is made of the tool's name, of the keys and values of the arguments in any order, and of the letters and
 * digits of texts in small letters, so it is coarser than what makes a near-duplicate: a call whose number no other
 * has is like none, and has not to be decoded. Whatever is not plain JSON (a fraction, a letter by its number, one that is
 * no ASCII, a key that stands twice) is left to the twin in model/repeats.py.
 */
#include "alike.h"

#define FEW 24

typedef struct {
    const unsigned char *at;
    const unsigned char *end;
} Text;

static inline void
skip_space(Text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
        text->at++;
}

/* The number of a text behind its opening quote; 0 where it is not read here. */
static int
text_number(Text *text, uint64_t *number)
{
    uint64_t hash = TEXT_HASH;
    const unsigned char *at = text->at, *end = text->end;
    for (; at < end && *at != '"'; at++) {
        if (*at == '\\') { /* of what is escaped by one sign nothing is a letter or digit */
            if (++at == end || *at == 0 || strchr("\"\\/bfnrt", *at) == NULL)
                return 0;
            continue;
        }
        unsigned char sign = small(*at);
        if (sign == 1)
            return 0;
        if (sign)
            hash = added(hash, sign);
    }
    if (at == end)
        return 0;
    text->at = at + 1;
    *number = hash;
    return 1;
}

/* A whole number or a word of JSON. */
static int
plain_number(Text *text, uint64_t *number)
{
    uint64_t hash = PLAIN_HASH;
    const unsigned char *begun = text->at, *at = begun;
    if (*at == '-')
        at++;
    const unsigned char *digits = at;
    while (at < text->end && *at >= '0' && *at <= '9')
        at++;
    if (at > digits) {
        if (at - digits > 18 || (*digits == '0' && (at - digits > 1 || digits > begun)))
            return 0;
    }
    else {
        static const char *words[] = {"true", "false", "null"};
        size_t left = (size_t)(text->end - begun), long_ = 0;
        for (int word = 0; word < 3 && !long_; word++) {
            size_t size = strlen(words[word]);
            if (left >= size && memcmp(begun, words[word], size) == 0)
                long_ = size;
        }
        if (!long_)
            return 0;
        at = begun + long_;
    }
    /* What goes on is a fraction, or no JSON. */
    if (at < text->end && *at != ',' && *at != '}' && *at != ']' && *at != ' ' && *at != '\t')
        return 0;
    for (; begun < at; begun++)
        hash = added(hash, *begun);
    text->at = at;
    *number = hash;
    return 1;
}

static int value_number(Text *text, uint64_t *number, int depth);

/* An object behind its opening brace: its members in any order. */
static int
object_number(Text *text, uint64_t *number, int depth)
{
    uint64_t sum = OBJECT_HASH, keys[MEMBERS];
    int count = 0;
    skip_space(text);
    if (text->at < text->end && *text->at == '}') {
        text->at++;
        *number = sum;
        return 1;
    }
    for (;;) {
        uint64_t key, value;
        skip_space(text);
        if (text->at >= text->end || *text->at++ != '"' || count == MEMBERS || !text_number(text, &key))
            return 0;
        for (int before = 0; before < count; before++)
            if (keys[before] == key)
                return 0;
        keys[count++] = key;
        skip_space(text);
        if (text->at >= text->end || *text->at++ != ':' || !value_number(text, &value, depth))
            return 0;
        sum += member(key, value);
        skip_space(text);
        if (text->at >= text->end)
            return 0;
        if (*text->at == '}') {
            text->at++;
            *number = mixed(sum);
            return 1;
        }
        if (*text->at++ != ',')
            return 0;
    }
}

/* A list behind its opening bracket. */
static int
list_number(Text *text, uint64_t *number, int depth)
{
    uint64_t hash = LIST_HASH;
    skip_space(text);
    if (text->at < text->end && *text->at == ']') {
        text->at++;
        *number = hash;
        return 1;
    }
    for (;;) {
        uint64_t value;
        if (!value_number(text, &value, depth))
            return 0;
        hash = mixed(hash + value);
        skip_space(text);
        if (text->at >= text->end)
            return 0;
        unsigned char sign = *text->at++;
        if (sign == ']') {
            *number = hash;
            return 1;
        }
        if (sign != ',')
            return 0;
    }
}

static int
value_number(Text *text, uint64_t *number, int depth)
{
    skip_space(text);
    if (text->at >= text->end || depth >= DEEPEST)
        return 0;
    switch (*text->at) {
    case '"':
        text->at++;
        return text_number(text, number);
    case '{':
        text->at++;
        return object_number(text, number, depth + 1);
    case '[':
        text->at++;
        return list_number(text, number, depth + 1);
    default:
        return plain_number(text, number);
    }
}

/* The number of a call's arguments: a text with one object in it, or a dict. */
static int
given_number(PyObject *given, uint64_t *number)
{
    if (PyDict_CheckExact(given))
        return decoded_number(given, number, 0);
    if (!PyUnicode_CheckExact(given) || !PyUnicode_IS_COMPACT_ASCII(given))
        return 0;
    const unsigned char *data = PyUnicode_1BYTE_DATA(given);
    Text text = {data, data + PyUnicode_GET_LENGTH(given)};
    if (text.at == text.end || *text.at++ != '{')
        return 0;
    return object_number(&text, number, 1) && text.at == text.end;
}

typedef struct {
    uint64_t number;
    Py_ssize_t at;
    int alike;
} Call;

static int
by_number(const void *one, const void *other)
{
    uint64_t a = ((const Call *)one)->number, b = ((const Call *)other)->number;
    return a < b ? -1 : a > b;
}

static int
by_place(const void *one, const void *other)
{
    Py_ssize_t a = ((const Call *)one)->at, b = ((const Call *)other)->at;
    return a < b ? -1 : a > b;
}

/* Notes which calls have the number of another one; whether any has. */
static int
mark_equal(Call *calls, Py_ssize_t count)
{
    int any = 0;
    if (count <= FEW) {
        for (Py_ssize_t at = 1; at < count; at++)
            for (Py_ssize_t before = 0; before < at; before++)
                if (calls[before].number == calls[at].number)
                    any = calls[before].alike = calls[at].alike = 1;
        return any;
    }
    qsort(calls, (size_t)count, sizeof(Call), by_number);
    for (Py_ssize_t at = 1; at < count; at++)
        if (calls[at - 1].number == calls[at].number)
            any = calls[at - 1].alike = calls[at].alike = 1;
    qsort(calls, (size_t)count, sizeof(Call), by_place);
    return any;
}

/* What is not read here may ask the same as any call of the tool: all of them are noted. -1 with an exception set. */
static int
mark_tools(Call *calls, Py_ssize_t count, PyObject *names, PyObject *unread)
{
    for (Py_ssize_t at = 0; at < count; at++) {
        int found = PySet_Contains(unread, PyList_GET_ITEM(names, at));
        if (found < 0)
            return -1;
        calls[at].alike |= found;
    }
    return 0;
}

/* alike(names, arguments): the places of calls that may ask nearly the same as another one; no other call does. None
 * where a name is no plain text. */
static PyObject *
alike(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    (void)module;
    if (given != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1])
        || PyList_GET_SIZE(args[0]) != PyList_GET_SIZE(args[1])) {
        PyErr_SetString(PyExc_TypeError, "alike takes two lists of one length");
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(args[0]);
    Call few[FEW], *calls = count <= FEW ? few : PyMem_Malloc((size_t)count * sizeof(Call));
    if (calls == NULL)
        return PyErr_NoMemory();
    PyObject *unread = NULL, *found = NULL;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *name = PyList_GET_ITEM(args[0], at);
        if (!PyUnicode_CheckExact(name)) {
            found = Py_NewRef(Py_None);
            goto done;
        }
        calls[at] = (Call){0, at, 0};
        if (given_number(PyList_GET_ITEM(args[1], at), &calls[at].number)) {
            calls[at].number += mixed((uint64_t)PyObject_Hash(name));
            continue;
        }
        calls[at].number = mixed((uint64_t)at);
        if (unread == NULL) {
            unread = PySet_New(NULL);
            /* That may have collected garbage, whose end may change anything. */
            if (unread == NULL || PyList_GET_SIZE(args[0]) != count || PyList_GET_SIZE(args[1]) != count) {
                found = unread == NULL ? NULL : Py_NewRef(Py_None);
                goto done;
            }
            name = PyList_GET_ITEM(args[0], at);
        }
        if (PySet_Add(unread, name) < 0)
            goto done;
    }
    if (unread != NULL && mark_tools(calls, count, args[0], unread) < 0)
        goto done;
    found = PyList_New(0);
    if (!mark_equal(calls, count) && unread == NULL)
        goto done;
    for (Py_ssize_t at = 0; found != NULL && at < count; at++) {
        if (!calls[at].alike)
            continue;
        PyObject *place = PyLong_FromSsize_t(calls[at].at);
        if (place == NULL || PyList_Append(found, place) < 0)
            Py_CLEAR(found);
        Py_XDECREF(place);
    }
done:
    Py_XDECREF(unread);
    if (calls != few)
        PyMem_Free(calls);
    return found;
}

static PyMethodDef methods[] = {
    {"alike", (PyCFunction)(void (*)(void))alike, METH_FASTCALL, "Which calls may ask nearly the same as another."},
    {NULL, NULL, 0, NULL},
};

int
add_alike(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
