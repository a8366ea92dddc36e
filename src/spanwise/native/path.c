/* What a run's time went by on, told by numbers alone: the twin of `_walked` in model/critical_path.py.
 *
 * The numbers were taken out of all spans before. So no Python object is looked at until the answer is made, and others
 * run meanwhile where there are many.
 */
#include "path.h"

#define LONG 1024

/* Those that ended last come first; of equal ends the earlier one. */
static int
by_end(const void *one, const void *other)
{
    const Child *a = one, *b = other;
    if (a->end != b->end)
        return a->end < b->end ? 1 : -1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void
sort_children(Walk *walk)
{
    Step *steps = walk->steps;
    Py_ssize_t count = walk->count, all = 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (i != walk->root && steps[i].end > steps[i].start)
            steps[steps[i].parent].count++;
    for (Py_ssize_t i = 0; i <= count; i++) {
        steps[i].first = all;
        all += steps[i].count;
        steps[i].count = 0;
    }
    /* Mostly the later one ends later, too: then they are in order, taken from behind. */
    for (Py_ssize_t i = count - 1; i >= 0; i--)
        if (i != walk->root && steps[i].end > steps[i].start) {
            Step *above = &steps[steps[i].parent];
            walk->children[above->first + above->count++] = (Child){steps[i].end, i};
        }
    for (Py_ssize_t i = 0; i <= count; i++) {
        Child *own = walk->children + steps[i].first;
        for (Py_ssize_t at = 1; at < steps[i].count; at++)
            if (own[at - 1].end <= own[at].end) {
                qsort(own, (size_t)steps[i].count, sizeof(Child), by_end);
                break;
            }
    }
}

/* The time that each span holds of the path, walked from the run's end backwards. */
static void
hold(Walk *walk)
{
    Step *steps = walk->steps;
    Frame *frames = walk->frames;
    int64_t cursor = walk->end;
    Py_ssize_t depth = 1;
    frames[0] = (Frame){walk->root, 0, walk->begin};
    while (depth) {
        Frame *frame = &frames[depth - 1];
        Step *own = &steps[frame->at];
        int deeper = 0;
        while (!deeper && frame->next < own->count) {
            const Child *child = &walk->children[own->first + frame->next++];
            int64_t start = steps[child->at].start;
            if (start < frame->floor)
                start = frame->floor;
            if (start >= cursor || child->end <= start)
                continue;
            if (child->end < cursor) {
                own->held += cursor - child->end;
                cursor = child->end;
            }
            deeper = steps[child->at].count > 0;
            if (deeper)
                frames[depth++] = (Frame){child->at, 0, start};
            else {
                steps[child->at].held += cursor - start;
                cursor = start;
            }
        }
        if (deeper)
            continue;
        if (cursor > frame->floor) {
            own->held += cursor - frame->floor;
            cursor = frame->floor;
        }
        depth--;
    }
}

/* For each call the time held by itself and by what lies in it: the outermost failed one, else the outermost repeat. */
static void
lose(Walk *walk)
{
    Step *steps = walk->steps;
    Frame *frames = walk->frames;
    steps[walk->root].bits |= KNOWN;
    steps[walk->root].call = -1;
    for (Py_ssize_t i = 0; i < walk->count; i++) {
        Py_ssize_t depth = 0, at = i;
        if (!steps[i].held) /* what holds something hangs below the run, however far */
            continue;
        for (; !(steps[at].bits & KNOWN); at = steps[at].parent)
            frames[depth++].at = at;
        Py_ssize_t call = steps[at].call;
        while (depth) {
            Step *own = &steps[at = frames[--depth].at];
            if ((own->bits & FAILED && (call < 0 || !(steps[call].bits & FAILED)))
                || (own->bits & REPEATED && call < 0))
                call = at;
            own->call = call;
            own->bits |= KNOWN;
        }
        if (steps[i].call >= 0)
            steps[steps[i].call].lost += steps[i].held;
    }
}

/* Notes what holds others: what is above a model call. Whether anything does. */
static int
find_holders(Walk *walk)
{
    Step *steps = walk->steps;
    if (!walk->models)
        return 0;
    steps[walk->root].bits |= ABOVE;
    int any = walk->root == walk->count || steps[walk->root].bits & RUNNER;
    for (Py_ssize_t i = 0; i < walk->count; i++)
        if (steps[i].bits & MODEL)
            for (Py_ssize_t at = steps[i].parent; !(steps[at].bits & ABOVE); at = steps[at].parent) {
                steps[at].bits |= ABOVE;
                any |= steps[at].bits & RUNNER;
            }
    return any;
}

static int
add_gap(PyObject *gaps, int64_t start, int64_t end, const Step *before, const Step *after)
{
    PyObject *gap = Py_BuildValue("LLnn", (long long)start, (long long)end, before ? before->index : (Py_ssize_t)-1,
                                  after ? after->index : (Py_ssize_t)-1);
    int failed = gap == NULL || PyList_Append(gaps, gap) < 0;
    Py_XDECREF(gap);
    return failed ? -1 : 0;
}

/* The stretches in which no span was open but for those that hold others, as a list. */
static PyObject *
gaps_of(const Walk *walk, int64_t longer)
{
    const Step *before = NULL;
    int64_t reach = walk->begin;
    PyObject *gaps = PyList_New(0);
    for (Py_ssize_t i = 0; gaps != NULL && i < walk->count; i++) {
        const Step *step = &walk->steps[i];
        if (step->end <= reach || ((step->bits & ABOVE) && (step->bits & RUNNER)))
            continue;
        if (step->start >= walk->end)
            break;
        if (step->end <= step->start)
            continue;
        if (step->start - reach > longer && add_gap(gaps, reach, step->start, before, step) < 0)
            Py_CLEAR(gaps);
        reach = step->end;
        before = step;
    }
    if (gaps != NULL && walk->end - reach > longer && add_gap(gaps, reach, walk->end, before, NULL) < 0)
        Py_CLEAR(gaps);
    return gaps;
}

/* The spans that hold most of the path, at most so many, each with what it holds: the most first. */
static PyObject *
most_of(const Walk *walk, Py_ssize_t named, int64_t least)
{
    const Step *best[MOST];
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < walk->count; i++) {
        const Step *step = &walk->steps[i];
        if (step->held < least || !step->held || (found == named && step->held <= best[found - 1]->held))
            continue;
        Py_ssize_t at = found < named ? found++ : found - 1;
        for (; at > 0 && best[at - 1]->held < step->held; at--)
            best[at] = best[at - 1];
        best[at] = step;
    }
    PyObject *most = PyList_New(found);
    for (Py_ssize_t i = 0; most != NULL && i < found; i++) {
        PyObject *pair = Py_BuildValue("nL", best[i]->index, (long long)best[i]->held);
        if (pair == NULL)
            Py_CLEAR(most);
        else
            PyList_SET_ITEM(most, i, pair);
    }
    return most;
}

static PyObject *
lost_of(const Walk *walk)
{
    PyObject *lost = PyDict_New();
    for (Py_ssize_t i = 0; walk->lossy && lost != NULL && i < walk->count; i++) {
        if (!walk->steps[i].lost)
            continue;
        PyObject *index = PyLong_FromSsize_t(walk->steps[i].index);
        PyObject *ns = PyLong_FromLongLong(walk->steps[i].lost);
        if (index == NULL || ns == NULL || PyDict_SetItem(lost, index, ns) < 0)
            Py_CLEAR(lost);
        Py_XDECREF(index);
        Py_XDECREF(ns);
    }
    return lost;
}

/* The answer, once the numbers are taken: what holds most, what was lost, and the gaps, None where they are not known. */
PyObject *
walk_path(Walk *walk, Py_ssize_t named, int64_t longer)
{
    PyThreadState *state = walk->count >= LONG ? PyEval_SaveThread() : NULL;
    sort_children(walk);
    hold(walk);
    if (walk->lossy)
        lose(walk);
    int holds = longer >= 0 && find_holders(walk);
    if (state != NULL)
        PyEval_RestoreThread(state);
    PyObject *most = most_of(walk, named, (walk->end - walk->begin - 1) / 100 + 1), *lost = lost_of(walk);
    PyObject *gaps = holds ? gaps_of(walk, longer) : Py_NewRef(Py_None);
    if (most != NULL && lost != NULL && gaps != NULL)
        return Py_BuildValue("NNN", most, lost, gaps);
    Py_XDECREF(most);
    Py_XDECREF(lost);
    Py_XDECREF(gaps);
    return NULL;
}
