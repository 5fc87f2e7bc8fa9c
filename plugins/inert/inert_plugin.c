// SPDX-License-Identifier: GPL-2.0-only
// Plugin without any hook, for a file name of one of CRIU's plugins whose work criu does itself. Programs such as vLLM
// look for this file in the plugin directory before they start criu. criu loads it only with --no-device.
#include "lib/c/criu-plugin.h"

static int start(int stage) {
    (void)stage;
    print_on_level(3, "%s: this file has no hooks; criu's own support does its work, unless --no-device is given\n",
                   INERT_PLUGIN_NAME);
    return 0;
}

static void end(int stage, int result) {
    (void)stage;
    (void)result;
}

CR_PLUGIN_REGISTER(INERT_PLUGIN_NAME, start, end)
