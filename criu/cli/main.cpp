// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/log.hpp"

int main() {
    criu::Log log;
    log.error("no command given");
    log.flushEarly();
    return 1;
}
