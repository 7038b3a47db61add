/* exit_code.h -- exit codes of the command line. */
#ifndef MORTISE_CLI_EXIT_CODE_H
#define MORTISE_CLI_EXIT_CODE_H

enum mortise_exit_code {
    MORTISE_EXIT_OK = 0,
    MORTISE_EXIT_FAILED = 1,
    MORTISE_EXIT_FINDINGS = 2,
    MORTISE_EXIT_USAGE = 3,
    MORTISE_EXIT_WAITING = 4,
    MORTISE_EXIT_IN_DOUBT = 5,
    MORTISE_EXIT_DENIED = 77,
    MORTISE_EXIT_CONFIG = 78
};

/* The exit code for an enum mortise_result, and for an enum
 * mortise_run_status; and the status of that name ("waiting"), as in
 * replies. */
enum mortise_exit_code mortise_exit_code_of_result(int result);
enum mortise_exit_code mortise_exit_code_of_status(int status);
int mortise_status_parse(const char *name); /* 0 if unknown */

/* Line n of the table (from 0): its code and text; NULL after the last. */
const char *mortise_exit_code_get_text(unsigned n,
                                       enum mortise_exit_code *code);

/* Sets of exit codes, for struct mortise_cmd: MORTISE_EXITS_RUN and so on.
 * Every subcommand may exit with OK, FAILED and USAGE. */
#define MORTISE_EXIT_BIT(n)    (1u << (n)) /* n: line of the table */
#define MORTISE_EXITS_ALWAYS   0x0Bu       /* 0 1 3 */
#define MORTISE_EXITS_FINDINGS 0x04u
#define MORTISE_EXITS_STORE    0xC0u /* 77 78 */
#define MORTISE_EXITS_RUN      0xF4u /* 2 4 5 77 78 */

#endif
