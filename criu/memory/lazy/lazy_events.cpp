// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/lazy/lazy_events.hpp"

namespace criu::memory {

void follow(const kernel::MemoryEvent& event, int userfaultfd, LatePages& pages) {
    if (event.kind == kernel::MemoryEvent::Kind::Move) {
        pages.move(event.start, event.target, event.bytes);
        kernel::wakeFaults(userfaultfd, event.target, event.bytes);
    } else {
        pages.forget(event.start, event.bytes);
    }
    kernel::wakeFaults(userfaultfd, event.start, event.bytes);
}

}  // namespace criu::memory
