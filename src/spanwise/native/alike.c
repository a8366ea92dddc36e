/* Whether any two tool calls ask nearly the same: a number for each call that is the same for two that do.
 *
 * The number is made of the tool's name, of the keys and values of the arguments in any order, and of the letters and
 * digits of texts in small letters, so it is coarser than what makes a near-duplicate: where all numbers differ, no two
 * calls are alike, and nothing has to be decoded. Whatever is not plain JSON (a fraction, an escape, a letter that is no
 * ASCII, a key that stands twice) is left to the twin in model/repeats.py.
 */
#include "core.h"

#include <stdint.h>

#define DEEPEST 24
#define MEMBERS 24

typedef struct {
    const unsigned char *at;
    const unsigned char *end;
} Text;

static inline uint64_t
mixed(uint64_t value)
{
    value ^= value >> 30;
    value *= 0xbf58476d1ce4e5b9u;
    value ^= value >> 27;
    value *= 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static inline void
skip_space(Text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
        text->at++;
}

/* A byte's small letter or digit; 0 for what stands between words, 1 for what is not read here. */
static inline unsigned char
small(unsigned char code)
{
    if ((code >= 'a' && code <= 'z') || (code >= '0' && code <= '9'))
        return code;
    if (code >= 'A' && code <= 'Z')
        return (unsigned char)(code + 32);
    return code < 32 || code > 126 || code == '\\';
}

/* The number of a text behind its opening quote; 0 where it is not read here. */
static int
text_number(Text *text, uint64_t *number)
{
    uint64_t hash = 0xcbf29ce484222325u;
    const unsigned char *at = text->at, *end = text->end;
    for (; at < end && *at != '"'; at++) {
        unsigned char sign = small(*at);
        if (sign == 1)
            return 0;
        if (sign)
            hash = (hash ^ sign) * 0x100000001b3u;
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
    uint64_t hash = 0x9e3779b97f4a7c15u;
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
        hash = (hash ^ *begun) * 0x100000001b3u;
    text->at = at;
    *number = hash;
    return 1;
}

static int value_number(Text *text, uint64_t *number, int depth);

/* An object behind its opening brace: its members in any order. */
static int
object_number(Text *text, uint64_t *number, int depth)
{
    uint64_t sum = 0x2545f4914f6cdd1du, keys[MEMBERS];
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
        sum += mixed(key * 3 + mixed(value));
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
    uint64_t hash = 0x6c62272e07bb0142u;
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

/* The number of a call's arguments, which are a text with one object in it. */
static int
given_number(PyObject *given, uint64_t *number)
{
    if (!PyUnicode_CheckExact(given) || !PyUnicode_IS_COMPACT_ASCII(given))
        return 0;
    const unsigned char *data = PyUnicode_1BYTE_DATA(given);
    Text text = {data, data + PyUnicode_GET_LENGTH(given)};
    if (text.at == text.end || *text.at++ != '{')
        return 0;
    return object_number(&text, number, 1) && text.at == text.end;
}

static int
compared(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

/* No two of the numbers are the same; they change places. A few are compared one by one. */
static int
all_differ(uint64_t *numbers, Py_ssize_t count)
{
    if (count > 16)
        qsort(numbers, (size_t)count, sizeof(uint64_t), compared);
    for (Py_ssize_t at = 1; at < count; at++)
        for (Py_ssize_t before = count > 16 ? at - 1 : 0; before < at; before++)
            if (numbers[before] == numbers[at])
                return 0;
    return 1;
}

/* unlike(names, arguments): whether it is sure that no two of the calls ask nearly the same. */
static PyObject *
unlike(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    (void)module;
    if (given != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1])
        || PyList_GET_SIZE(args[0]) != PyList_GET_SIZE(args[1])) {
        PyErr_SetString(PyExc_TypeError, "unlike takes two lists of one length");
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(args[0]);
    uint64_t few[64], *numbers = count <= 64 ? few : PyMem_Malloc((size_t)count * sizeof(uint64_t));
    if (numbers == NULL)
        return PyErr_NoMemory();
    int sure = 1;
    for (Py_ssize_t at = 0; sure && at < count; at++) {
        PyObject *name = PyList_GET_ITEM(args[0], at);
        sure = PyUnicode_CheckExact(name) && given_number(PyList_GET_ITEM(args[1], at), &numbers[at]);
        if (sure)
            numbers[at] += mixed((uint64_t)PyObject_Hash(name));
    }
    sure = sure && all_differ(numbers, count);
    if (numbers != few)
        PyMem_Free(numbers);
    return PyBool_FromLong(sure);
}

static PyMethodDef methods[] = {
    {"unlike", (PyCFunction)(void (*)(void))unlike, METH_FASTCALL, "Whether surely no two calls ask nearly the same."},
    {NULL, NULL, 0, NULL},
};

int
add_alike(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
