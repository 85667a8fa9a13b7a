#include "CEmisoraOpus.h"
