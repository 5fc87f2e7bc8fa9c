// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/image/image_dir.hpp"

/// Host and domain name (uts_namespaces(7)).
namespace criu::namespaces {

/// The names of the calling thread's UTS namespace.
class UtsDump {
public:
    /// `number`: namespace id.
    explicit UtsDump(std::uint32_t number) : number_(number) {}
    void write(const ImageDir& images) const;

private:
    std::uint32_t number_;
};

}  // namespace criu::namespaces
