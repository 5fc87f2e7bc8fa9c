// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/uts.hpp"

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

UtsRestore::UtsRestore(const ImageDir& images, std::uint32_t number) {
    const auto entry = images.openRequired(ImageKind::Utsns, number).only<UtsnsEntry>();
    host_ = entry->nodename;
    domain_ = entry->domainname;
    constexpr std::size_t kLongest = sizeof(utsname::nodename) - 1;
    for (const std::string& name : {host_, domain_})
        if (name.size() > kLongest)
            fail("the host or domain name {} is longer than {} bytes", name, kLongest);
}

void UtsRestore::fill() const {
    sys(::sethostname(host_.data(), host_.size()), "set the host name {}", host_);
    sys(::setdomainname(domain_.data(), domain_.size()), "set the domain name {}", domain_);
}

}  // namespace criu::namespaces
