/* kinds.h -- sets of kinds of values.  For the checker and the functions. */
#ifndef MORTISE_CEL_KINDS_H
#define MORTISE_CEL_KINDS_H

#include "cel/value.h"

#define BIT(kind) (1u << (kind))

enum {
    NONE = BIT(MORTISE_CEL_NULL),
    BOOL = BIT(MORTISE_CEL_BOOL),
    INT = BIT(MORTISE_CEL_INT),
    UINT = BIT(MORTISE_CEL_UINT),
    DOUBLE = BIT(MORTISE_CEL_DOUBLE),
    STRING = BIT(MORTISE_CEL_STRING),
    BYTES = BIT(MORTISE_CEL_BYTES),
    LIST = BIT(MORTISE_CEL_LIST),
    MAP = BIT(MORTISE_CEL_MAP),
    TIMESTAMP = BIT(MORTISE_CEL_TIMESTAMP),
    DURATION = BIT(MORTISE_CEL_DURATION),
    TYPE = BIT(MORTISE_CEL_TYPE),
    WHOLE = INT | UINT,
    NUMBER = WHOLE | DOUBLE,
    KEY = BOOL | WHOLE | STRING,
    ANY = BIT(MORTISE_CEL_KINDS) - 1
};

#endif
