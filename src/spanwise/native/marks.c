/* Marks: whether any of many short texts stands in a text, found in one pass.
 *
 * The twin of `_may_hold` in secret_kinds.py, for texts of one byte a character. Of other texts it says yes, which asks
 * for a closer look.
 */
#include "core.h"
#include <string.h>

#define MOST 128
#define PAIRS (1 << 16)

typedef struct {
    const char *text; /* held by `exact` or `folded` */
    Py_ssize_t length;
    int folds;
    short next; /* the mark before it with the same first letter, in whatever case; -1 for none */
} Mark;

typedef struct {
    PyObject_HEAD
    PyObject *exact, *folded; /* tuples of texts of ASCII, each of two characters at least but for single ones */
    Mark marks[MOST];
    Py_ssize_t count;
    Py_ssize_t digits;
    short last[256]; /* by a letter, in lower case, the last mark that begins with it; -1 for none */
    unsigned char single[256];     /* the marks of one character */
    unsigned char pairs[PAIRS / 8]; /* the first two characters of each other mark, as bits */
} Marks;

static void
marks_dealloc(Marks *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->exact);
    Py_XDECREF(self->folded);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static inline unsigned char
lower(unsigned char letter)
{
    return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
}

static inline unsigned char
upper(unsigned char letter)
{
    return letter >= 'a' && letter <= 'z' ? letter - 32 : letter;
}

static void
note_pair(Marks *self, unsigned char first, unsigned char second)
{
    unsigned int pair = (unsigned int)first << 8 | second;
    self->pairs[pair >> 3] |= 1 << (pair & 7);
}

static int
take_marks(Marks *self, PyObject *texts, int folds)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(texts); i++) {
        PyObject *text = PyTuple_GET_ITEM(texts, i);
        if (!PyUnicode_CheckExact(text) || !PyUnicode_IS_ASCII(text) || !PyUnicode_GET_LENGTH(text)
            || self->count == MOST) {
            PyErr_Format(PyExc_ValueError, "marks are at most %d texts of ASCII, this is %R", MOST, text);
            return -1;
        }
        Mark *mark = &self->marks[self->count++];
        mark->text = (const char *)PyUnicode_1BYTE_DATA(text);
        mark->length = PyUnicode_GET_LENGTH(text);
        mark->folds = folds;
        mark->next = self->last[lower(mark->text[0])];
        self->last[lower(mark->text[0])] = (short)(self->count - 1);
        unsigned char first = mark->text[0], second = mark->text[1]; /* a text ends with a zero */
        if (mark->length == 1) {
            self->single[first] = 1;
            if (folds)
                self->single[lower(first)] = self->single[upper(first)] = 1;
            continue;
        }
        note_pair(self, first, second);
        if (folds) {
            note_pair(self, lower(first), lower(second));
            note_pair(self, lower(first), upper(second));
            note_pair(self, upper(first), lower(second));
            note_pair(self, upper(first), upper(second));
        }
    }
    return 0;
}

static int
stands_at(const Mark *mark, const unsigned char *text, Py_ssize_t left)
{
    if (mark->length > left)
        return 0;
    if (!mark->folds)
        return memcmp(mark->text, text, mark->length) == 0;
    for (Py_ssize_t i = 0; i < mark->length; i++)
        if (lower((unsigned char)mark->text[i]) != lower(text[i]))
            return 0;
    return 1;
}

static int
any_at(Marks *self, const unsigned char *text, Py_ssize_t left)
{
    for (short i = self->last[lower(*text)]; i >= 0; i = self->marks[i].next)
        if (stands_at(&self->marks[i], text, left))
            return 1;
    return 0;
}

static PyObject *
marks_among(Marks *self, PyObject *text)
{
    if (!PyUnicode_Check(text))
        return PyErr_Format(PyExc_TypeError, "a text, not %.50s", Py_TYPE(text)->tp_name);
    if (PyUnicode_READY(text) < 0)
        return NULL;
    if (PyUnicode_KIND(text) != PyUnicode_1BYTE_KIND)
        Py_RETURN_TRUE;
    const unsigned char *at = PyUnicode_1BYTE_DATA(text), *end = at + PyUnicode_GET_LENGTH(text);
    Py_ssize_t row = 0;
    int was_digit = 0;
    for (; at < end; at++) { /* behind the last character stands a zero */
        unsigned int pair = (unsigned int)at[0] << 8 | at[1];
        int is_digit = *at >= '0' && *at <= '9';
        if (!is_digit && !(was_digit && (*at == ' ' || *at == '-')))
            row = 0;
        row += is_digit;
        was_digit = is_digit;
        if (row == self->digits || self->single[*at])
            Py_RETURN_TRUE;
        if ((self->pairs[pair >> 3] & 1 << (pair & 7)) && any_at(self, at, end - at))
            Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
}

/* Marks(exact, folded, digits). */
static PyObject *
marks_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "", "", NULL};
    PyObject *exact, *folded;
    Py_ssize_t digits;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!n:Marks", names, &PyTuple_Type, &exact, &PyTuple_Type, &folded,
                                     &digits))
        return NULL;
    Marks *self = (Marks *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->exact = Py_NewRef(exact);
    self->folded = Py_NewRef(folded);
    self->digits = digits;
    memset(self->last, -1, sizeof(self->last));
    if (take_marks(self, exact, 0) < 0 || take_marks(self, folded, 1) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyMethodDef marks_methods[] = {
    {"among", (PyCFunction)marks_among, METH_O, "Whether one of the marks stands in a text."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot marks_slots[] = {
    {Py_tp_new, marks_new},
    {Py_tp_dealloc, marks_dealloc},
    {Py_tp_methods, marks_methods},
    {Py_tp_doc, "Looks for any of many short texts at once."},
    {0, NULL},
};

static PyType_Spec marks_spec = {
    .name = "spanwise.native._core.Marks",
    .basicsize = sizeof(Marks),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = marks_slots,
};

int
add_marks(PyObject *module)
{
    return add_type(module, &marks_spec);
}
