// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/lazy/lazy_events.hpp"

namespace criu::memory {

void follow(const kernel::UffdEvent& event, int userfaultfd, LazyPageMap& pages) {
    if (event.kind == kernel::UffdEvent::Kind::Move) {
        pages.move(event.start, event.target, event.bytes);
        kernel::uffdWake(userfaultfd, event.target, event.bytes);
    } else {
        pages.forget(event.start, event.bytes);
    }
    kernel::uffdWake(userfaultfd, event.start, event.bytes);
}

}  // namespace criu::memory
