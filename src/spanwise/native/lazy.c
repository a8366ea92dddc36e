/* Lazy: a property that is computed once, when it is first read: the twin of `lazy` in model/lazy.py. */
#include "core.h"

typedef struct {
    PyObject_HEAD
    PyObject *read; /* what computes it */
    PyObject *name; /* NULL until a class has it */
    PyObject *words;
} Lazy;

static void
lazy_dealloc(Lazy *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->read);
    Py_XDECREF(self->name);
    Py_XDECREF(self->words);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Lazy(read). */
static PyObject *
lazy_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"read", NULL};
    PyObject *read;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Lazy", names, &read))
        return NULL;
    Lazy *self = (Lazy *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->read = Py_NewRef(read);
    self->words = PyObject_GetAttrString(read, "__doc__");
    if (self->words == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *
lazy_set_name(Lazy *self, PyObject *args)
{
    PyObject *owner, *name;
    if (!PyArg_ParseTuple(args, "OU:__set_name__", &owner, &name))
        return NULL;
    Py_XSETREF(self->name, Py_NewRef(name));
    Py_RETURN_NONE;
}

static PyObject *
lazy_get(Lazy *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    if (instance == NULL || instance == Py_None)
        return Py_NewRef((PyObject *)self);
    if (self->name == NULL) {
        PyErr_SetString(PyExc_TypeError, "no class has this property");
        return NULL;
    }
    PyObject *value = PyObject_CallOneArg(self->read, instance);
    /* It is in the instance from now on, where it is found before this is. */
    if (value != NULL && PyObject_SetAttr(instance, self->name, value) < 0)
        Py_CLEAR(value);
    return value;
}

static PyMethodDef lazy_methods[] = {
    {"__set_name__", (PyCFunction)lazy_set_name, METH_VARARGS, "The class has it under this name."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef lazy_members[] = {
    {"__doc__", T_OBJECT, offsetof(Lazy, words), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot lazy_slots[] = {
    {Py_tp_new, lazy_new},
    {Py_tp_dealloc, lazy_dealloc},
    {Py_tp_descr_get, lazy_get},
    {Py_tp_methods, lazy_methods},
    {Py_tp_members, lazy_members},
    {0, NULL},
};

static PyType_Spec lazy_spec = {
    .name = "spanwise.native._core.Lazy",
    .basicsize = sizeof(Lazy),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = lazy_slots,
};

int
add_lazy(PyObject *module)
{
    return add_type(module, &lazy_spec);
}
