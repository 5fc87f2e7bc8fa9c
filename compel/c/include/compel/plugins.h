/* SPDX-License-Identifier: LGPL-2.1-only */
/* Plugins: parts of blobs with functions for the start and the end of the blob. A plugin registers by a pointer in the
 * section .compel.init. */
#ifndef COMPEL_PLUGINS_H
#define COMPEL_PLUGINS_H

#include <compel/common/compiler.h>

#ifndef __init
#define __init __attribute__((__used__, __section__(".compel.init")))
#endif
#ifndef __exit
#define __exit __attribute__((__used__, __section__(".compel.exit")))
#endif

#ifndef __ASSEMBLY__

typedef struct {
    const char* name;
    int (*init)(void);
    void (*exit)(void);
} plugin_init_t;

#define plugin_register(description) \
    static const plugin_init_t* const compel_plugin_pointer_##description __init = &description;

#define PLUGIN_REGISTER(id, plugin_name, on_init, on_exit)                                                         \
    static const plugin_init_t compel_plugin_##id = {.name = (plugin_name), .init = (on_init), .exit = (on_exit)}; \
    plugin_register(compel_plugin_##id)

#define PLUGIN_REGISTER_DUMMY(id) PLUGIN_REGISTER(id, #id, 0, 0)

#endif

#endif
