// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/process_title.hpp"

#include <bsd/unistd.h>
#include <unistd.h>

namespace criu {

void reserveProcessTitle(int argc, char* argv[]) {
    ::setproctitle_init(argc, argv, environ);
}

void setProcessTitle(const std::string& title) noexcept {
    ::setproctitle("%s", title.c_str());
}

}  // namespace criu
