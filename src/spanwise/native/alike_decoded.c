/* The numbers of arguments that are recorded as values: the same as those of the JSON that they would be.
 *
 * What is no plain value of JSON (a fraction, a letter that is no ASCII, a type of somebody's own) is not read here.
 */
#include "alike.h"

#include <stdio.h>

static int
plain_text(PyObject *value, uint64_t *number)
{
    if (!PyUnicode_CheckExact(value) || !PyUnicode_IS_COMPACT_ASCII(value))
        return 0;
    const unsigned char *at = PyUnicode_1BYTE_DATA(value), *end = at + PyUnicode_GET_LENGTH(value);
    uint64_t hash = TEXT_HASH;
    for (; at < end; at++) {
        unsigned char sign = small(*at);
        if (sign > 1) /* what JSON escapes is neither letter nor digit */
            hash = added(hash, sign);
    }
    *number = hash;
    return 1;
}

static int
whole_number(PyObject *value, uint64_t *number)
{
    char written[24];
    int overflow = 0;
    long long found = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || found <= -1000000000000000000 || found >= 1000000000000000000)
        return 0;
    uint64_t hash = PLAIN_HASH;
    snprintf(written, sizeof(written), "%lld", found);
    for (const char *at = written; *at; at++)
        hash = added(hash, (unsigned char)*at);
    *number = hash;
    return 1;
}

static int
word_number(const char *word, uint64_t *number)
{
    uint64_t hash = PLAIN_HASH;
    for (; *word; word++)
        hash = added(hash, (unsigned char)*word);
    *number = hash;
    return 1;
}

static int
dict_number(PyObject *value, uint64_t *number, int depth)
{
    PyObject *name, *inner;
    Py_ssize_t at = 0, count = 0;
    uint64_t sum = OBJECT_HASH, keys[MEMBERS];
    while (PyDict_Next(value, &at, &name, &inner)) {
        uint64_t found;
        if (count == MEMBERS || !plain_text(name, &keys[count]) || !decoded_number(inner, &found, depth + 1))
            return 0;
        for (Py_ssize_t before = 0; before < count; before++)
            if (keys[before] == keys[count])
                return 0;
        sum += member(keys[count++], found);
    }
    *number = count ? mixed(sum) : sum;
    return 1;
}

int
decoded_number(PyObject *value, uint64_t *number, int depth)
{
    if (depth >= DEEPEST)
        return 0;
    if (PyUnicode_Check(value))
        return plain_text(value, number);
    if (value == Py_True || value == Py_False || value == Py_None)
        return word_number(value == Py_None ? "null" : value == Py_True ? "true" : "false", number);
    if (PyLong_CheckExact(value))
        return whole_number(value, number);
    if (PyDict_CheckExact(value))
        return dict_number(value, number, depth);
    if (!PyList_CheckExact(value))
        return 0;
    uint64_t hash = LIST_HASH;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(value); at++) {
        uint64_t found;
        if (!decoded_number(PyList_GET_ITEM(value, at), &found, depth + 1))
            return 0;
        hash = mixed(hash + found);
    }
    *number = hash;
    return 1;
}
