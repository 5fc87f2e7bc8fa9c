// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/lazy/lazy_events.hpp"

#include <utility>

#include "criu/image/pagemap.hpp"
#include "criu/kernel/mm/uffd_missing.hpp"

namespace criu::memory {

LazyEvents followEvents(int userfaultfd, LazyPageMap& pages) {
    using Kind = kernel::UffdEvent::Kind;
    LazyEvents found;
    for (std::vector<kernel::UffdEvent> events; !(events = kernel::readUffdEvents(userfaultfd)).empty();)
        for (kernel::UffdEvent& event : events)
            switch (event.kind) {
                case Kind::Fault:
                    found.faults.push_back(event.start & ~(kImagePageSize - 1));
                    break;
                case Kind::Fork:
                    found.children.push_back({std::move(event.child), pages.fork()});
                    break;
                case Kind::Move:
                    pages.move(event.start, event.target, event.bytes);
                    kernel::uffdWake(userfaultfd, event.target, event.bytes);
                    kernel::uffdWake(userfaultfd, event.start, event.bytes);
                    break;
                case Kind::Remove:
                case Kind::Unmap:
                    pages.forget(event.start, event.bytes);
                    kernel::uffdWake(userfaultfd, event.start, event.bytes);
                    break;
            }
    return found;
}

}  // namespace criu::memory
