/* Arguments that are JSON text of an object: whether something has to be left out of them. Most are objects of texts and
 * numbers, which are not decoded to see it, for hardly anybody reads them.
 */
#include "facts.h"

/* Numbers of more digits may be too great for a decoder. */
#define MOST_DIGITS 15

int
flat_rule_take(FlatRule *rule, PyObject *keys)
{
    PyObject *key, *over = PyObject_GetIter(keys);
    while (over != NULL && (key = PyIter_Next(over)) != NULL) {
        int sound = rule->count < MOST_KEYS && PyUnicode_CheckExact(key) && PyUnicode_IS_ASCII(key);
        if (sound)
            rule->keys[rule->count++] = (FlatKey){(const char *)PyUnicode_DATA(key), PyUnicode_GET_LENGTH(key)};
        Py_DECREF(key); /* the set holds it */
        if (!sound) {
            PyErr_SetString(PyExc_ValueError, "the names of arguments are few, and of ASCII");
            break;
        }
    }
    Py_XDECREF(over);
    return PyErr_Occurred() ? -1 : 0;
}

static const char *
behind_spaces(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* The quote that ends a text which begins here; NULL where something is escaped, or wrong. */
static const char *
quote_behind(const char *at, const char *end)
{
    for (; at < end && *at != '"'; at++)
        if (*at == '\\' || (unsigned char)*at < 0x20)
            return NULL;
    return at < end ? at : NULL;
}

static const char *
behind_digits(const char *at, const char *end)
{
    const char *first = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at > first && at - first <= MOST_DIGITS ? at : NULL;
}

/* What stands behind a number as it is usually written; NULL for any other. */
static const char *
behind_number(const char *at, const char *end)
{
    at += at < end && *at == '-';
    const char *first = at;
    at = behind_digits(at, end);
    if (at == NULL || (*first == '0' && at - first > 1))
        return NULL;
    return at < end && *at == '.' ? behind_digits(at + 1, end) : at;
}

static const char *
behind_value(const char *at, const char *end)
{
    static const char *const words[] = {"true", "false", "null"};
    if (at < end && *at == '"') {
        const char *quote = at + 1 < end && at[1] != '<' ? quote_behind(at + 1, end) : NULL;
        return quote == NULL ? NULL : quote + 1;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t size = strlen(words[i]);
        if ((size_t)(end - at) >= size && memcmp(at, words[i], size) == 0)
            return at + size;
    }
    return behind_number(at, end);
}

static int
is_known(const FlatRule *rule, const char *name, Py_ssize_t size)
{
    for (int i = 0; i < rule->count; i++)
        if (rule->keys[i].size == size && memcmp(rule->keys[i].letters, name, (size_t)size) == 0)
            return 1;
    return 0;
}

/* What stands behind a name and its value; NULL where they take a closer look. */
static const char *
behind_pair(const FlatRule *rule, const char *at, const char *end)
{
    const char *quote = at < end && *at == '"' ? quote_behind(at + 1, end) : NULL;
    if (quote == NULL || is_known(rule, at + 1, quote - at - 1))
        return NULL;
    at = behind_spaces(quote + 1, end);
    return at < end && *at == ':' ? behind_value(behind_spaces(at + 1, end), end) : NULL;
}

/* Whether a text is JSON, of an object whose values are texts, numbers and the like, none of which takes a closer look:
 * neither its name, nor by beginning with `<`. Whatever is in doubt is not. */
static int
is_flat(const FlatRule *rule, PyObject *text)
{
    if (PyUnicode_KIND(text) != PyUnicode_1BYTE_KIND)
        return 0;
    const char *at = (const char *)PyUnicode_1BYTE_DATA(text), *end = at + PyUnicode_GET_LENGTH(text);
    if (end - at < 2 || *at != '{' || end[-1] != '}')
        return 0;
    end--;
    at = behind_spaces(at + 1, end);
    if (at == end)
        return 1;
    while ((at = behind_pair(rule, at, end)) != NULL) {
        at = behind_spaces(at, end);
        if (at == end)
            return 1;
        if (*at != ',')
            return 0;
        at = behind_spaces(at + 1, end);
    }
    return 0;
}

/* Whether arguments are those of an object of which nothing has to be left out; -1 with an exception. */
static int
are_plain(PyObject *keys, PyObject *arguments)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    if (!PyDict_CheckExact(arguments))
        return 0;
    while (PyDict_Next(arguments, &at, &name, &value)) {
        int odd = PyUnicode_CheckExact(name) ? PySet_Contains(keys, name) : 1;
        if (odd)
            return odd < 0 ? -1 : 0;
        if (PyUnicode_Check(value) && PyUnicode_GET_LENGTH(value) && PyUnicode_READ_CHAR(value, 0) == '<')
            return 0;
    }
    return 1;
}

/* What the memo makes of JSON text that is an object: a new reference. It is not asked for what parses, since hardly any
 * call has the arguments of another, letter by letter, and to look that up takes half as long as to parse them. */
static PyObject *
decoded_of(FactReader *self, PyObject *memo, PyObject *text)
{
    PyObject *found = PyObject_CallOneArg(self->decode, text);
    if (found != NULL)
        return found;
    PyErr_Clear();
    return PyObject_CallMethodOneArg(memo, self->json, text);
}

int
arguments_are_plain(FactReader *self, const ToolRule *rule, PyObject *memo, PyObject *text)
{
    if (is_flat(&rule->flat, text))
        return 1;
    PyObject *decoded = decoded_of(self, memo, text);
    int plain = decoded == NULL ? -1 : are_plain(rule->keys, decoded);
    Py_XDECREF(decoded);
    return plain;
}
