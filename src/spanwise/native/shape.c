/* Shape: what an instance of a Struct consists of.
 *
 * The call of a Struct works out for each instance what holds for all of its type. Here that is done once, for types
 * without anything of their own about being made: no garbage collection, no hook, defaults that never change.
 */
#include "shape.h"

static int
is_constant(PyObject *value)
{
    return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) || PyUnicode_CheckExact(value) ||
           PyFloat_CheckExact(value);
}

/* Notes where the fields stand. 1: they are as usual; 0: they are not; -1: an exception. */
static int
take_fields(Shape *self, PyObject *fields, PyObject *defaults)
{
    if (!PyTuple_CheckExact(fields) || !PyTuple_CheckExact(defaults) || PyTuple_GET_SIZE(fields) > MOST_SLOTS)
        return 0;
    Py_ssize_t count = PyTuple_GET_SIZE(fields), required = count - PyTuple_GET_SIZE(defaults);
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields, i));
        self->at[i] = name == NULL ? -1 : slot_of(self->type, name);
        if (self->at[i] < 0)
            return -1;
        if (i < required)
            continue;
        PyObject *held = PyTuple_GET_ITEM(defaults, i - required);
        if (!is_constant(held))
            return 0;
        self->defaults[i] = Py_NewRef(held);
    }
    self->count = count;
    return 1;
}

int
shape_take(Shape *self, PyTypeObject *type)
{
    self->type = (PyTypeObject *)Py_NewRef((PyObject *)type);
    if (PyType_HasFeature(type, Py_TPFLAGS_HAVE_GC) || PyObject_HasAttrString((PyObject *)type, "__post_init__"))
        return 0;
    PyObject *fields = PyObject_GetAttrString((PyObject *)type, "__struct_fields__");
    PyObject *defaults = fields == NULL ? NULL : PyObject_GetAttrString((PyObject *)type, "__struct_defaults__");
    int taken = defaults == NULL ? -1 : take_fields(self, fields, defaults);
    Py_XDECREF(fields);
    Py_XDECREF(defaults);
    return taken < 0 ? -1 : 0;
}

void
shape_clear(Shape *self)
{
    Py_CLEAR(self->type);
    for (Py_ssize_t i = 0; i < MOST_SLOTS; i++)
        Py_CLEAR(self->defaults[i]);
}

PyObject *
shape_made(const Shape *self, PyObject *const *values, Py_ssize_t given)
{
    if (given > self->count || (given < self->count && self->defaults[given] == NULL))
        return PyObject_Vectorcall((PyObject *)self->type, values, (size_t)given, NULL);
    PyObject *made = self->type->tp_alloc(self->type, 0);
    if (made == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < self->count; i++)
        *(PyObject **)((char *)made + self->at[i]) = Py_NewRef(i < given ? values[i] : self->defaults[i]);
    return made;
}
