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

/* Keeps the gaps in the row of frames, which are no longer needed: what ended before each and what begins after it. */
static Py_ssize_t
find_gaps(Walk *walk, int64_t longer)
{
    Py_ssize_t found = 0, before = -1;
    int64_t reach = walk->begin;
    for (Py_ssize_t i = 0; i < walk->count; i++) {
        const Step *step = &walk->steps[i];
        if (step->end <= reach || ((step->bits & ABOVE) && (step->bits & RUNNER)))
            continue;
        if (step->start >= walk->end)
            break;
        if (step->end <= step->start)
            continue;
        if (step->start - reach > longer)
            walk->frames[found++] = (Frame){before, i, reach};
        reach = step->end;
        before = i;
    }
    if (walk->end - reach > longer)
        walk->frames[found++] = (Frame){before, -1, reach};
    return found;
}

/* The gaps as a list of their starts, ends and indices of spans before and after them, -1 for none. */
static PyObject *
gaps_of(const Walk *walk, Py_ssize_t count)
{
    const Step *steps = walk->steps;
    PyObject *gaps = PyList_New(count);
    for (Py_ssize_t i = 0; gaps != NULL && i < count; i++) {
        const Frame *gap = &walk->frames[i];
        PyObject *made = Py_BuildValue("LLnn", (long long)gap->floor,
                                       (long long)(gap->next < 0 ? walk->end : steps[gap->next].start),
                                       gap->at < 0 ? (Py_ssize_t)-1 : steps[gap->at].index,
                                       gap->next < 0 ? (Py_ssize_t)-1 : steps[gap->next].index);
        if (made == NULL)
            Py_CLEAR(gaps);
        else
            PyList_SET_ITEM(gaps, i, made);
    }
    return gaps;
}

/* Finds the spans that hold most of the path, at most so many: the most first. */
static Py_ssize_t
find_most(const Walk *walk, Py_ssize_t named, int64_t least, const Step **best)
{
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
    return found;
}

static PyObject *
most_of(const Step **best, Py_ssize_t count)
{
    PyObject *most = PyList_New(count);
    for (Py_ssize_t i = 0; most != NULL && i < count; i++) {
        PyObject *pair = Py_BuildValue("nL", best[i]->index, (long long)best[i]->held);
        if (pair == NULL)
            Py_CLEAR(most);
        else
            PyList_SET_ITEM(most, i, pair);
    }
    return most;
}

/* Keeps what was lost in the row of children, which are no longer needed. */
static Py_ssize_t
find_lost(Walk *walk)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; walk->lossy && i < walk->count; i++)
        if (walk->steps[i].lost)
            walk->children[found++] = (Child){walk->steps[i].lost, walk->steps[i].index};
    return found;
}

static PyObject *
lost_of(const Walk *walk, Py_ssize_t count)
{
    PyObject *lost = PyDict_New();
    for (Py_ssize_t i = 0; lost != NULL && i < count; i++) {
        PyObject *index = PyLong_FromSsize_t(walk->children[i].at);
        PyObject *ns = PyLong_FromLongLong(walk->children[i].end);
        if (index == NULL || ns == NULL || PyDict_SetItem(lost, index, ns) < 0)
            Py_CLEAR(lost);
        Py_XDECREF(index);
        Py_XDECREF(ns);
    }
    return lost;
}

PyObject *
walk_path(Walk *walk, Py_ssize_t named, int64_t longer)
{
    const Step *best[MOST];
    PyThreadState *state = walk->count >= LONG ? PyEval_SaveThread() : NULL;
    sort_children(walk);
    hold(walk);
    if (walk->lossy)
        lose(walk);
    int holds = longer >= 0 && find_holders(walk);
    Py_ssize_t many = find_most(walk, named, (walk->end - walk->begin - 1) / 100 + 1, best);
    Py_ssize_t calls = find_lost(walk), idle = holds ? find_gaps(walk, longer) : 0;
    if (state != NULL)
        PyEval_RestoreThread(state);
    PyObject *most = most_of(best, many), *lost = lost_of(walk, calls);
    PyObject *gaps = holds ? gaps_of(walk, idle) : Py_NewRef(Py_None);
    if (most != NULL && lost != NULL && gaps != NULL)
        return Py_BuildValue("NNN", most, lost, gaps);
    Py_XDECREF(most);
    Py_XDECREF(lost);
    Py_XDECREF(gaps);
    return NULL;
}
