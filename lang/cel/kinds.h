/* kinds.h -- sets of kinds of values, for the checker and the functions. */
#ifndef MORTISE_LANG_CEL_KINDS_H
#define MORTISE_LANG_CEL_KINDS_H

#include "lang/cel/value.h"

#define BIT(kind) (1u << (kind))

enum {
    NONE = BIT(CEL_NULL),
    BOOL = BIT(CEL_BOOL),
    INT = BIT(CEL_INT),
    UINT = BIT(CEL_UINT),
    DOUBLE = BIT(CEL_DOUBLE),
    STRING = BIT(CEL_STRING),
    BYTES = BIT(CEL_BYTES),
    LIST = BIT(CEL_LIST),
    MAP = BIT(CEL_MAP),
    TIMESTAMP = BIT(CEL_TIMESTAMP),
    DURATION = BIT(CEL_DURATION),
    TYPE = BIT(CEL_TYPE),
    WHOLE = INT | UINT,
    NUMBER = WHOLE | DOUBLE,
    KEY = BOOL | WHOLE | STRING,
    ANY = BIT(CEL_KINDS) - 1
};

#endif
