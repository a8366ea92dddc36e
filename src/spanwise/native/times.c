/* Times and durations as ISO 8601 writes them, in the plainest form: see wire.h for what is declined. */
#include "json.h"

#define MICROSECOND 1000LL
#define SECOND 1000000000LL
/* Longer numbers than anything that lasts; the product with what an hour has still fits. */
#define LONGEST_NUMBER 6

/* So many digits as a number; -1 where anything else stands there. */
static int
digits(const unsigned char *at, int count)
{
    int number = 0;
    for (int place = 0; place < count; place++) {
        if (at[place] < '0' || at[place] > '9')
            return -1;
        number = number * 10 + (at[place] - '0');
    }
    return number;
}

/* The nanoseconds behind a point of one to six digits, which are passed; -1 for any other. */
static long long
fraction(const unsigned char **at)
{
    long long found = 0, unit = SECOND;
    int count = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++, count++) {
        unit /= 10;
        found += (**at - '0') * unit;
    }
    return count && unit >= MICROSECOND ? found : -1;
}

/* Days from 1970 to a date of the Gregorian calendar. */
static long long
days(int year, int month, int day)
{
    year -= month <= 2; /* years are counted from March, so that the odd day is the last */
    int era = year / 400, of_era = year - era * 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097LL + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int
last_day(int year, int month)
{
    if (month == 2)
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

int
iso_time(Bytes text, long long *ns)
{
    static const char form[] = "\"0000-00-00T00:00:00";
    const unsigned char *at = text.at;
    if (text.end - at < (Py_ssize_t)sizeof(form) + 1)
        return 0;
    for (int place = 0; form[place]; place++)
        if (form[place] != '0' && at[place] != form[place])
            return 0;
    int year = digits(at + 1, 4), month = digits(at + 6, 2), day = digits(at + 9, 2);
    int hour = digits(at + 12, 2), minute = digits(at + 15, 2), second = digits(at + 18, 2);
    if (year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 || day > last_day(year, month) || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
        return 0;
    at += sizeof(form) - 1;
    *ns = 0;
    if (*at == '.') {
        at++;
        *ns = fraction(&at);
    }
    if (*ns < 0 || text.end - at != 2 || at[0] != 'Z' || at[1] != '"')
        return 0;
    *ns += (days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second) * SECOND;
    return 1;
}

int
iso_duration(Bytes text, long long *ns)
{
    static const struct {
        unsigned char letter;
        long long seconds;
    } units[] = {{'H', 3600}, {'M', 60}, {'S', 1}};
    const unsigned char *at = text.at;
    if (text.end - at < 6 || memcmp(at, "\"PT", 3))
        return 0;
    *ns = 0;
    at += 3;
    for (int unit = 0; unit < 3 && *at != '"'; unit++) {
        int count = 0;
        while (at[count] >= '0' && at[count] <= '9')
            count++;
        const unsigned char *end = at + count;
        long long part = 0;
        if (count && unit == 2 && *end == '.') {
            end++;
            part = fraction(&end);
        }
        if (!count || count > LONGEST_NUMBER || part < 0)
            return 0;
        if (*end == units[unit].letter) {
            *ns += digits(at, count) * units[unit].seconds * SECOND + part;
            at = end + 1;
        }
    }
    return text.end - at == 1 && at[-1] != 'T';
}
