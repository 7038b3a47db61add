/* junit.c -- write the report of `mortise test` as JUnit XML.
 *
 * JUnit XML has no single schema.  This subset is accepted by all readers:
 *
 *     testsuites/testsuite {name, tests, failures, errors, time}
 *         testcase {classname, name, time}
 *             failure {message, type}   code and message of the first finding;
 *                                       the text has all findings
 *
 * Times are wall-clock seconds.  XML 1.0 cannot represent control characters
 * or invalid UTF-8; each such byte becomes '?'.
 */
#include "testkit/junit.h"

#include <string.h>

#include "cli/cli.h"
#include "core/json/value.h"

static void put_xml_char(struct mortise_buf *b, unsigned char c)
{
    const char *escape = c == '&'    ? "&amp;"
                         : c == '<'  ? "&lt;"
                         : c == '>'  ? "&gt;"
                         : c == '"'  ? "&quot;"
                         : c == '\n' ? "&#10;"
                         : c == '\t' ? "&#9;"
                                     : NULL;

    if (escape != NULL)
        mortise_buf_puts(b, escape);
    else
        mortise_buf_put(b, c < 0x20 || c == 0x7f ? "?" : (const char *)&c, 1);
}

/* Nor can it represent U+FFFE and U+FFFF. */
static bool is_noncharacter(const char *p)
{
    return memcmp(p, "\xef\xbf", 2) == 0 &&
           ((unsigned char)p[2] == 0xbe || (unsigned char)p[2] == 0xbf);
}

static void put_xml_text(struct mortise_buf *b, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (p[1] != '\0' && is_noncharacter(p)) {
            mortise_buf_puts(b, "?");
            p += 2;
        } else {
            put_xml_char(b, (unsigned char)*p);
        }
    }
}

static void put_xml_attribute(struct mortise_buf *b, const char *name,
                              const char *value)
{
    mortise_buf_printf(b, " %s=\"", name);
    put_xml_text(b, value);
    mortise_buf_puts(b, "\"");
}

/* Write the number of cases and failures and the duration: of one file, or
 * (NULL) of all. */
static void put_case_counts(struct mortise_buf *b, const json_t *cases,
                            const char *file)
{
    unsigned long long n = 0, failures = 0, ms = 0;

    MORTISE_JSON_EACH (one, i, cases) {
        if (file != NULL &&
            strcmp(mortise_cli_get_text(one, "file"), file) != 0)
            continue;
        n++;
        failures += !json_is_true(json_object_get(one, "ok"));
        ms += mortise_cli_get_integer(one, "ms");
    }
    mortise_buf_printf(b,
                       " tests=\"%llu\" failures=\"%llu\" errors=\"0\" "
                       "time=\"%llu.%03llu\"",
                       n, failures, ms / 1000, ms % 1000);
}

static void put_case_failure(struct mortise_buf *b, const json_t *findings)
{
    const json_t *first = json_array_get(findings, 0);

    mortise_buf_puts(b, "      <failure");
    put_xml_attribute(b, "type", mortise_cli_get_text(first, "code"));
    put_xml_attribute(b, "message", mortise_cli_get_text(first, "message"));
    mortise_buf_puts(b, ">");
    MORTISE_JSON_EACH (one, i, findings) {
        const char *help = mortise_cli_get_text(one, "help");

        put_xml_text(b, mortise_cli_get_text(one, "path"));
        mortise_buf_printf(
            b, ":%llu:%llu: ",
            (unsigned long long)mortise_cli_get_integer(one, "line"),
            (unsigned long long)mortise_cli_get_integer(one, "col"));
        put_xml_text(b, mortise_cli_get_text(one, "code"));
        mortise_buf_puts(b, ": ");
        put_xml_text(b, mortise_cli_get_text(one, "message"));
        if (help[0] != '\0') {
            mortise_buf_puts(b, " (");
            put_xml_text(b, help);
            mortise_buf_puts(b, ")");
        }
        mortise_buf_puts(b, "\n");
    }
    mortise_buf_puts(b, "</failure>\n");
}

static void put_test_case(struct mortise_buf *b, const json_t *one)
{
    unsigned long long ms = mortise_cli_get_integer(one, "ms");
    bool ok = json_is_true(json_object_get(one, "ok"));

    mortise_buf_puts(b, "    <testcase");
    put_xml_attribute(b, "classname", mortise_cli_get_text(one, "file"));
    put_xml_attribute(b, "name", mortise_cli_get_text(one, "case"));
    mortise_buf_printf(b, " time=\"%llu.%03llu\"%s>\n", ms / 1000, ms % 1000,
                       ok ? "/" : "");
    if (ok)
        return;
    put_case_failure(b, json_object_get(one, "findings"));
    mortise_buf_puts(b, "    </testcase>\n");
}

/* The cases of one file are adjacent in the report. */
static void put_test_suites(struct mortise_buf *b, const json_t *cases)
{
    const char *file = NULL;

    MORTISE_JSON_EACH (one, i, cases) {
        const char *its = mortise_cli_get_text(one, "file");

        if (file == NULL || strcmp(its, file) != 0) {
            if (file != NULL)
                mortise_buf_puts(b, "  </testsuite>\n");
            mortise_buf_puts(b, "  <testsuite");
            put_xml_attribute(b, "name", its);
            put_case_counts(b, cases, its);
            mortise_buf_puts(b, ">\n");
            file = its;
        }
        put_test_case(b, one);
    }
    if (file != NULL)
        mortise_buf_puts(b, "  </testsuite>\n");
}

void mortise_junit_write(struct mortise_buf *b, const json_t *report)
{
    const json_t *cases = json_object_get(report, "cases");

    mortise_buf_puts(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<testsuites");
    put_case_counts(b, cases, NULL);
    mortise_buf_puts(b, ">\n");
    put_test_suites(b, cases);
    mortise_buf_puts(b, "</testsuites>\n");
}
