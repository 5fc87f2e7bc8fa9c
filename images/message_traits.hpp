// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

namespace criu {

/// Link from a message's C type to its descriptor: MessageTraits<CoreEntry>::descriptor. The specialisations are
/// generated with the messages, one header per .proto file ("images/core.hpp").
template <typename T>
struct MessageTraits;

/// A type that protobuf-c generated.
template <typename T>
concept Message = requires {
    MessageTraits<T>::descriptor;
};

}  // namespace criu
