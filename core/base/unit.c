/* unit.c -- durations and sizes: numbers with a unit. */
#include "core/base/unit.h"

#include <string.h>

#include "core/base/digit.h"

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit durations[] = {
    {"ms", 1},          {"s", 1000},         {"m", 60 * 1000},
    {"h", 3600 * 1000}, {"d", 86400 * 1000}, {NULL, 0},
};

static const struct unit sizes[] = {
    {"B", 1},         {"KiB", 1 << 10},           {"MiB", 1 << 20},
    {"GiB", 1 << 30}, {"TiB", (uint64_t)1 << 40}, {NULL, 0},
};

/* The limit keeps sums of a few values and today's date far from overflow: 2^52
 * ms are 142,000 years, 2^52 bytes are 4 PiB. */
#define LARGEST ((uint64_t)1 << 52)

static bool parse_with_unit(const char *s, size_t n, const struct unit units[],
                            uint64_t *out)
{
    uint64_t v = 0;

    if (mortise_digit_get_value(*s) > 9 || strlen(s) != n)
        return false;
    for (; mortise_digit_get_value(*s) <= 9; s++) {
        v = v * 10 + mortise_digit_get_value(*s);
        if (v > LARGEST)
            return false;
    }
    for (; units->name != NULL; units++) {
        if (strcmp(s, units->name) != 0)
            continue;
        if (v > LARGEST / units->factor)
            return false;
        *out = v * units->factor;
        return true;
    }
    return false;
}

bool mortise_duration_parse(const char *text, size_t n, uint64_t *ms)
{
    return parse_with_unit(text, n, durations, ms);
}

bool mortise_size_parse(const char *text, size_t n, uint64_t *bytes)
{
    return parse_with_unit(text, n, sizes, bytes);
}
