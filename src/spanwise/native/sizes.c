/* Sizes: how much text attributes hold.
 *
 * The twin of the loop of `_size` in assembly/sizes.py, for a plain dict of plain values.
 */
#include "core.h"

Py_ssize_t
text_of(PyObject *attributes)
{
    if (!PyDict_CheckExact(attributes))
        return -1;
    PyObject *name, *value;
    Py_ssize_t at = 0, total = 0;
    while (PyDict_Next(attributes, &at, &name, &value)) {
        if (PyUnicode_CheckExact(value))
            total += PyUnicode_GET_LENGTH(value);
        else if (PyBytes_CheckExact(value))
            total += PyBytes_GET_SIZE(value);
        else if (!PyLong_CheckExact(value) && !PyFloat_CheckExact(value) && !PyBool_Check(value) && value != Py_None)
            return -1;
    }
    return total;
}

/* text_in(attributes): what `text_of` says. */
static PyObject *
text_in(PyObject *module, PyObject *attributes)
{
    (void)module;
    return PyLong_FromSsize_t(text_of(attributes));
}

static PyMethodDef functions[] = {
    {"text_in", text_in, METH_O, "How much text attributes hold."},
    {NULL, NULL, 0, NULL},
};

int
add_sizes(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
