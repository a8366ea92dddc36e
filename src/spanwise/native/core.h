/* What the files of the compiled part share. Python.h must come first. */
#ifndef SPANWISE_CORE_H
#define SPANWISE_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

/* Since 3.12 these have public names. */
#ifndef Py_T_PYSSIZET
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

/* Where an instance of a msgspec Struct holds a field, in bytes from its start; -1 with an exception set. */
Py_ssize_t slot_of(PyTypeObject *type, const char *field);

/* The field at that place, borrowed; NULL where it was never set. */
static inline PyObject *
slot(PyObject *instance, Py_ssize_t at)
{
    return *(PyObject **)((char *)instance + at);
}

/* A whole number of 64 bits; no exception is left behind for anything else. */
static inline int
is_whole(PyObject *value, long long *number)
{
    int overflow = 0;
    if (value == NULL || !PyLong_CheckExact(value))
        return 0;
#if PY_VERSION_HEX < 0x030c0000 && PYLONG_BITS_IN_DIGIT == 30
    /* Times are three digits; a call of the library for each would be a good part of what reading a span takes. */
    const digit *digits = ((PyLongObject *)value)->ob_digit;
    switch (Py_SIZE(value)) {
    case 0:
        return *number = 0, 1;
    case 1:
        return *number = digits[0], 1;
    case 2:
        return *number = (long long)digits[1] << 30 | digits[0], 1;
    case 3:
        if (digits[2] < 8)
            return *number = (long long)digits[2] << 60 | (long long)digits[1] << 30 | digits[0], 1;
    }
#endif
    *number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow;
}

/* So many kinds are known by where they lie in memory: they come from tables, few objects, again and again. */
#define LATELY 16

/* A method that takes its arguments as they stand on the stack, for what is called for every run. */
#define ON_THE_STACK(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

/* Whether a method was given as many arguments as it takes; if not, there is an exception. */
static inline int
were_given(const char *name, Py_ssize_t given, Py_ssize_t taken)
{
    if (given != taken)
        PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, %zd were given", name, taken, given);
    return given == taken;
}

/* Makes a type and adds it to the module. */
int add_type(PyObject *module, PyType_Spec *spec);

/* Characters of text and bytes among the values of some attributes; -1 where that takes a closer look. */
Py_ssize_t text_of(PyObject *attributes);

/* Whether a table of kinds holds kinds, or kinds with what else they take; if not, there is an exception. */
int kinds_are_sound(PyObject *table);
/* Whether a span of this name, scope and attributes has what its kind takes; -1 with an exception. */
int kind_is_plain(PyObject *rule, PyObject *title, PyObject *scope, PyObject *attributes);

int add_link(PyObject *module);
int add_fields(PyObject *module);
int add_wire(PyObject *module);
int add_alike(PyObject *module);
int add_sizes(PyObject *module);
int add_marks(PyObject *module);
int add_records(PyObject *module);
int add_spans(PyObject *module);
int add_calls(PyObject *module);
int add_facts(PyObject *module);
int add_late(PyObject *module);
int add_lazy(PyObject *module);

#endif
