#include "lib/allow.h"

#include "lang/config/allow.h"
#include "lib/test.h"

void test_allow(const char *path)
{
    struct mortise_deployment *d;
    struct mortise_allowance a;
    struct mortise_diags diags;
    json_t *none = json_array();

    mortise_diags_init(&diags, &mortise_heap);
    /* with findings, too: a variable may be set for the command alone */
    (void)mortise_deployment_read_partly(&d, &mortise_heap, path, &diags);
    if (d != NULL) {
        ck_assert_int_eq(mortise_allow_read(&a, d, NULL), MORTISE_OK);
        ck_assert_int_eq(mortise_allow_write(&a, none, NULL), MORTISE_OK);
        mortise_allow_finish(&a);
        mortise_deployment_free(d);
    }
    mortise_diags_finish(&diags);
    json_decref(none);
}
