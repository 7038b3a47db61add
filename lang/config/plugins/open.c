/* open.c -- open and check the deployment of an engine: findings become the text
 * of an error. */
#include "core/engine/deployment.h"

#include "lang/config/plugins/configs.h"
#include "lang/config/settings.h"
#include "lang/yaml/diag.h"

/* Turn the findings in the deployment file into an error message. */
static int fail_with_findings(const struct mortise_mem *mem,
                              struct mortise_diags *diags,
                              struct mortise_err *err)
{
    int rv = mortise_diags_result(diags);
    struct mortise_buf text;

    mortise_buf_init(&text, mem);
    mortise_diags_format(diags, &text);
    rv = mortise_buf_cstr(&text) != NULL
             ? mortise_fail(err, rv == MORTISE_ECHECK ? MORTISE_ECONFIG : rv,
                            "%s", text.p)
             : mortise_nomem(err);
    mortise_buf_finish(&text);
    return rv;
}

int mortise_deployment_open(struct mortise_settings *s,
                            const struct mortise_mem *mem,
                            const struct mortise_options *options,
                            struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, mem);
    rv = mortise_settings_open(s, mem, options->deployment, options->store,
                               mortise_settings_get_flags(options->flags),
                               &diags, err);
    if (rv == MORTISE_ECHECK)
        rv = fail_with_findings(mem, &diags, err);
    mortise_diags_finish(&diags);
    return rv;
}

int mortise_deployment_check(const struct mortise_deployment *d,
                             struct mortise_plugins *plugins,
                             struct mortise_err *err)
{
    const struct mortise_mem *mem = d->arena.mem;
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, mem);
    rv = mortise_configs_check(d, plugins, false, &diags);
    if (rv == MORTISE_ECHECK)
        rv = fail_with_findings(mem, &diags, err);
    else if (rv != MORTISE_OK)
        rv = mortise_nomem(err);
    mortise_diags_finish(&diags);
    return rv;
}
