#include "CEmisoraOpenSSL.h"
