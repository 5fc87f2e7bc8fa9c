// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/socket_kinds.hpp"

#include <sys/socket.h>

#include <compel/unique_fd.hpp>

#include <algorithm>
#include <iterator>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/open_fd.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

struct Family {
    int number;
    const char* name;
};

constexpr Family kFamilies[] = {
    {AF_ALG, "the kernel's cryptography"},
    {AF_BLUETOOTH, "Bluetooth"},
    {AF_CAN, "CAN"},
    {AF_TIPC, "TIPC"},
    {AF_RDS, "RDS"},
    {AF_QIPCRTR, "QIPCRTR"},
    {43, "SMC"},
    {44, "XDP"},
};

class OtherSocketKindDump final : public files::FileKindDump {
public:
    [[nodiscard]] bool claims(const files::OpenFd& file) const override { return file.socketFamily >= 0; }

    void dump(const files::OpenFd& file, FileEntry&, files::FileDump&) override {
        const int family = file.socketFamily;
        const auto* const known = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                               [&](const Family& one) { return one.number == family; });
        if (known == std::end(kFamilies))
            fail("{} is a socket of family {}, which can't be dumped", file.describe(), family);
        fail("{} is a socket of {}, which can't be dumped", file.describe(), known->name);
    }
};

}  // namespace

std::unique_ptr<files::FileKindDump> makeOtherSocketDump() {
    return std::make_unique<OtherSocketKindDump>();
}

}  // namespace criu::sockets
