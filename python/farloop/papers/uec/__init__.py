"""Ultra Ethernet's transport: what its public simulator gives, as figures' scenarios (TOML) with judges and pictures beside them."""
