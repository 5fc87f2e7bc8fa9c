// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/time_uts/uts.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "images/utsns.hpp"

namespace criu::namespaces {

void UtsDump::write(const ImageDir& images) const {
    utsname names{};
    sys(::uname(&names), "read host and domain name");
    UtsnsEntry entry = UTSNS_ENTRY__INIT;
    entry.nodename = names.nodename;
    entry.domainname = names.domainname;
    ImageWriter image = images.create(ImageKind::Utsns, number_);
    image.write(entry);
    image.finish();
}

}  // namespace criu::namespaces
