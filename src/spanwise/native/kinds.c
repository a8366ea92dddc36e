/* Kinds that a span names with one word, where little else is looked at: the twin of what a dialect's `kind` says. */
#include "late.h"

enum { KIND, SCOPES, NEEDS, UNLIKE, WITHOUT, PARTS };

int
kinds_are_sound(PyObject *table)
{
    PyObject *said, *rule;
    Py_ssize_t at = 0;
    while (PyDict_Next(table, &at, &said, &rule)) {
        if (!PyTuple_CheckExact(rule))
            continue;
        if (PyTuple_GET_SIZE(rule) != PARTS || !PyFrozenSet_CheckExact(PyTuple_GET_ITEM(rule, SCOPES)) ||
            !PyUnicode_CheckExact(PyTuple_GET_ITEM(rule, NEEDS)) ||
            !PyUnicode_CheckExact(PyTuple_GET_ITEM(rule, UNLIKE)) ||
            !PyUnicode_CheckExact(PyTuple_GET_ITEM(rule, WITHOUT))) {
            PyErr_SetString(PyExc_TypeError, "a kind, scopes, an attribute, what is in no name, and one not there");
            return 0;
        }
    }
    return 1;
}

int
kind_is_plain(PyObject *rule, PyObject *title, PyObject *scope, PyObject *attributes)
{
    PyObject *needs = PyTuple_GET_ITEM(rule, NEEDS), *unlike = PyTuple_GET_ITEM(rule, UNLIKE);
    PyObject *without = PyTuple_GET_ITEM(rule, WITHOUT);
    if (title == NULL || !PyUnicode_CheckExact(title) || scope == NULL || !PyUnicode_CheckExact(scope))
        return 0;
    int odd = PySet_Contains(PyTuple_GET_ITEM(rule, SCOPES), scope);
    if (odd)
        return odd < 0 ? -1 : 0;
    if (PyUnicode_GET_LENGTH(needs)) {
        PyObject *value = attribute_of(attributes, needs);
        int is_there = value != NULL && PyUnicode_CheckExact(value) && PyUnicode_GET_LENGTH(value);
        Py_XDECREF(value);
        if (!is_there)
            return PyErr_Occurred() ? -1 : 0;
    }
    if (PyUnicode_GET_LENGTH(without)) {
        PyObject *value = attribute_of(attributes, without);
        if (value != NULL || PyErr_Occurred()) {
            Py_XDECREF(value);
            return PyErr_Occurred() ? -1 : 0;
        }
    }
    if (!PyUnicode_GET_LENGTH(unlike))
        return 1;
    Py_ssize_t found = PyUnicode_Find(title, unlike, 0, PyUnicode_GET_LENGTH(title), 1);
    return found < -1 ? -1 : found < 0;
}
