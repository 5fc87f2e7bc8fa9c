// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/process_title.hpp"

#include <bsd/unistd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "criu/base/bundle.hpp"

namespace criu {

void reserveProcessTitle(int argc, char* argv[]) {
    // In a bundle, arguments of the dynamic linker precede those of criu. The kernel then shows only those of criu;
    // needs CAP_SYS_RESOURCE.
    if (!bundleFolder().empty())
        ::prctl(PR_SET_MM, PR_SET_MM_ARG_START, argv[0], 0, 0);
    ::setproctitle_init(argc, argv, environ);
}

void setProcessTitle(const std::string& title) noexcept {
    ::setproctitle("%s", title.c_str());
}

}  // namespace criu
